import { createSignal, For, Show } from 'solid-js';
import { type Annotations, type ToolDraft, toolLimits } from '#core/contract/definitions/tools.ts';
import type { Statement } from '#ui/src/features/builder/use-statement.ts';
import { BUILDER_WORDS } from '#ui/src/features/builder/words.ts';
import { Switch } from '#ui/src/components/form/choice.tsx';
import { CodeEditor, type Fault } from '#ui/src/components/editor/code-editor.tsx';
import { Panel } from '#ui/src/components/panel.tsx';
import { Select } from '#ui/src/components/form/select.tsx';
import { FormField } from '#ui/src/fields/form-field.tsx';
import type { Form, Path } from '#ui/src/kernel/form/form.ts';

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
    <Panel title="Result">
      <div class="panel-body stack">
        <FormField form={props.form} name="return_type" error={props.error('return_type')} />
        <Switch label="Transform the result with a template" checked={shown()} onChange={toggle} />
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

const HINTS = { default: undefined, yes: true, no: false } as const;
type Hint = keyof typeof HINTS;
const HINT_OPTIONS = [
  { value: 'default', label: 'Not set' },
  { value: 'yes', label: 'Yes' },
  { value: 'no', label: 'No' },
] as const;
type Limit = keyof typeof toolLimits;
const LIMITS = Object.keys(toolLimits) as readonly Limit[];

/** What most tools leave as it is. */
export function LimitsPanel(props: { form: ToolForm; statement: Statement; error: ErrorOf }) {
  const hint = (name: keyof Annotations): Hint => {
    const value = props.form.values.annotations[name];
    return value === undefined ? 'default' : value ? 'yes' : 'no';
  };
  const setHint = (name: keyof Annotations, value: Hint) => {
    const { [name]: _before, ...rest } = props.form.values.annotations;
    const chosen = HINTS[value];
    props.form.set('annotations', chosen === undefined ? rest : { ...rest, [name]: chosen });
  };
  /** What holds while the tool has no limit of its own. */
  const inherited = (name: Limit): string | undefined => {
    const connection = props.statement.connection();
    const limits: Partial<Record<Limit, number | undefined>> = {
      timeout_ms: connection?.query_timeout_ms,
      max_rows: connection?.max_rows,
    };
    return limits[name]?.toString();
  };
  const annotation = (name: keyof Annotations, label: string) => (
    <Select label={label} options={HINT_OPTIONS} value={hint(name)} onChange={(value: Hint) => setHint(name, value)} />
  );
  return (
    <details
      class="panel builder-more"
      open={[...LIMITS, 'annotations' as const].some((name) => props.error(name) !== undefined)}
    >
      <summary class="panel-head">
        <h2>Limits and hints</h2>
      </summary>
      <div class="panel-body stack">
        <div class="grid-2">
          <For each={LIMITS}>
            {(name) => <FormField form={props.form} name={name} placeholder={inherited(name)} error={props.error(name)} />}
          </For>
          {annotation('destructive_hint', 'Destructive')}
          {annotation('idempotent_hint', 'Idempotent')}
          {annotation('open_world_hint', 'Open world')}
        </div>
      </div>
    </details>
  );
}
