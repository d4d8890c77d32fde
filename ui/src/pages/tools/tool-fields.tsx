import { createSignal, For, Show } from 'solid-js';
import { shownIn } from '#core/contract/fields.ts';
import { type Annotations, hostLimits, type ReturnType, type ToolDraft } from '#core/contract/tools.ts';
import type { Statement } from '#ui/src/components/builder/use-statement.ts';
import { BUILDER_WORDS } from '#ui/src/components/builder/words.ts';
import { Switch } from '#ui/src/components/choice.tsx';
import { CodeEditor, type Fault } from '#ui/src/components/editor/code-editor.tsx';
import { NumberField } from '#ui/src/components/number-field.tsx';
import { Panel } from '#ui/src/components/panel.tsx';
import { Select } from '#ui/src/components/select.tsx';
import type { Form, Path } from '#ui/src/kernel/form.ts';
import { RETURN_TYPES, TOOL_WORDS as WORDS } from './words.ts';

type ToolForm = Form<ToolDraft>;
type ErrorOf = (path: Path<ToolDraft>) => string | undefined;

/** What the rows become. */
export function ResultPanel(props: {
  form: ToolForm;
  statement: Statement;
  error: ErrorOf;
  faults: readonly Fault[];
  onRun: () => void;
  onSave: () => void;
}) {
  const [opened, setOpened] = createSignal(false);
  const shown = () => opened() || (props.form.values.transform_template ?? '') !== '';
  const toggle = (on: boolean) => {
    setOpened(on);
    if (!on) props.form.set('transform_template', null);
  };
  const error = () => {
    const sentence = props.error('transform_template');
    return props.faults.some(({ message }) => message === sentence) ? undefined : sentence;
  };
  return (
    <Panel title={WORDS.result}>
      <div class="panel-body stack">
        <Select
          label={WORDS.return_type}
          options={RETURN_TYPES}
          {...props.form.choice<ReturnType>('return_type')}
          error={props.error('return_type')}
        />
        <Switch label={WORDS.use_template} checked={shown()} onChange={toggle} />
        <Show when={shown()}>
          <CodeEditor
            label={BUILDER_WORDS.template}
            value={props.form.values.transform_template ?? ''}
            onInput={(text) => props.form.set('transform_template', text === '' ? null : text)}
            language={props.statement.template_language()}
            faults={props.faults}
            error={error()}
            hint={BUILDER_WORDS.template_hint}
            placeholder={BUILDER_WORDS.template_placeholder}
            onRun={() => props.onRun()}
            onSave={() => props.onSave()}
          />
        </Show>
      </div>
    </Panel>
  );
}

const READ_ONLY = { inferred: null, yes: true, no: false } as const;
type ReadOnly = keyof typeof READ_ONLY;
const HINTS = { default: undefined, yes: true, no: false } as const;
type Hint = keyof typeof HINTS;
const HINT_OPTIONS = [
  { value: 'default', label: WORDS.hint_default },
  { value: 'yes', label: WORDS.hint_yes },
  { value: 'no', label: WORDS.hint_no },
] as const;

/** What most tools leave as it is. */
export function LimitsPanel(props: { form: ToolForm; statement: Statement; error: ErrorOf }) {
  const read_only = (): ReadOnly => {
    const value = props.form.values.read_only;
    return value === null ? 'inferred' : value ? 'yes' : 'no';
  };
  const hint = (name: keyof Annotations): Hint => {
    const value = props.form.values.annotations[name];
    return value === undefined ? 'default' : value ? 'yes' : 'no';
  };
  const setHint = (name: keyof Annotations, value: Hint) => {
    const { [name]: _before, ...rest } = props.form.values.annotations;
    const chosen = HINTS[value];
    props.form.set('annotations', chosen === undefined ? rest : { ...rest, [name]: chosen });
  };
  const limit = (field: 'query_timeout_ms' | 'max_rows') => props.statement.connection()?.[field];
  const annotation = (name: keyof Annotations, label: string) => (
    <Select label={label} options={HINT_OPTIONS} value={hint(name)} onChange={(value: Hint) => setHint(name, value)} />
  );
  return (
    <details
      class="panel builder-more"
      open={[...LIMIT_FIELDS, ...SHOWN.map(([field]) => field)].some((field) => props.error(field) !== undefined)}
    >
      <summary class="panel-head">
        <h2>{WORDS.limits}</h2>
      </summary>
      <div class="panel-body stack">
        <div class="grid-2">
          <Select
            label={WORDS.read_only}
            options={[
              { value: 'inferred', label: WORDS.read_only_inferred },
              { value: 'yes', label: WORDS.read_only_yes },
              { value: 'no', label: WORDS.read_only_no },
            ]}
            value={read_only()}
            onChange={(value: ReadOnly) => props.form.set('read_only', READ_ONLY[value])}
            hint={WORDS.read_only_hint}
            error={props.error('read_only')}
          />
          <NumberField
            label={WORDS.cache}
            unit="s"
            min={0}
            {...props.form.number('cache_ttl_seconds')}
            onInput={(value) => props.form.set('cache_ttl_seconds', value ?? 0)}
            hint={WORDS.cache_hint}
            error={props.error('cache_ttl_seconds')}
          />
          <NumberField
            label={WORDS.timeout}
            unit="ms"
            min={1}
            {...props.form.number('timeout_ms')}
            hint={WORDS.timeout_hint(limit('query_timeout_ms') ?? 30_000)}
            error={props.error('timeout_ms')}
          />
          <NumberField
            label={WORDS.max_rows}
            unit="rows"
            min={1}
            {...props.form.number('max_rows')}
            hint={WORDS.max_rows_hint(limit('max_rows') ?? 1_000)}
            error={props.error('max_rows')}
          />
          <For each={SHOWN}>
            {([field, { label, unit, hint }]) => (
              <NumberField
                label={label}
                unit={unit}
                min={1}
                {...props.form.number(field)}
                hint={hint}
                error={props.error(field)}
              />
            )}
          </For>
          {annotation('destructive_hint', WORDS.destructive)}
          {annotation('idempotent_hint', WORDS.idempotent)}
          {annotation('open_world_hint', WORDS.open_world)}
        </div>
      </div>
    </details>
  );
}

/** Fields of which the contract says how they are shown. */
const SHOWN = shownIn(hostLimits);
const LIMIT_FIELDS = ['read_only', 'timeout_ms', 'max_rows', 'cache_ttl_seconds', 'annotations'] as const;
