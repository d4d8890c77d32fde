import { createSignal, For, Show } from 'solid-js';
import { lazyPart } from '#ui/src/components/show/lazy-part.tsx';
import type { ToolDraft } from '#core/contract/definitions/tools.ts';
import { type View, VIEW_CHOICES, VIEW_KINDS, type ViewKind } from '#core/contract/definitions/view.ts';
import { isChart } from '#core/lib/view/drawing.ts';
import { SegmentedControl } from '#ui/src/components/form/choice.tsx';
import { TextField } from '#ui/src/components/form/field.tsx';
import type { Option } from '#ui/src/components/form/option.tsx';
import { Select } from '#ui/src/components/form/select.tsx';
import { TagsField } from '#ui/src/components/form/tags-field.tsx';
import type { StatementDraft } from '#ui/src/features/builder/statement-draft.ts';
import type { Statement } from '#ui/src/features/builder/use-statement.ts';
import './view-fields.css';

const DrawnResult = lazyPart(async () => (await import('#ui/src/features/run/drawn-result.tsx')).DrawnResult);

const FITS = '';
const KINDS: readonly Option<ViewKind | typeof FITS>[] = [
  { value: FITS, label: 'What fits the rows' },
  ...VIEW_KINDS.map((kind) => ({ value: kind, label: VIEW_CHOICES[kind].label, hint: VIEW_CHOICES[kind].help })),
];
const CLIENTS = [
  { value: 'claude', label: 'Claude' },
  { value: 'chatgpt', label: 'ChatGPT' },
  { value: 'phone', label: 'Phone' },
];
const THEMES = [
  { value: 'light', label: 'Light' },
  { value: 'dark', label: 'Dark' },
] as const;

type Field = Exclude<keyof View, 'kind'>;
/** The fields of each kind besides its name; others would be refused. */
const takes = (kind: ViewKind): readonly Field[] => {
  if (kind === 'none') return [];
  if (kind === 'record') return ['title'];
  if (kind === 'table' || kind === 'value') return ['title', 'y', 'format'];
  return kind === 'pie' ? ['title', 'x', 'y', 'format'] : ['title', 'x', 'y', 'series', 'format'];
};

/** How clients with MCP Apps render the result of a tool, with a preview of the newest result. */
export function ViewFields(props: { draft: StatementDraft<ToolDraft> }) {
  const view = () => props.draft.form.values.view;
  const columns = () => props.draft.statement.columns();
  const fields = () => takes(view()?.kind ?? 'none');
  const chooseKind = (kind: ViewKind | typeof FITS) => {
    if (kind === FITS) return props.draft.form.set('view', null);
    const taken = takes(kind);
    const before = Object.entries(view() ?? {}).filter(([name]) => taken.some((field) => field === name));
    props.draft.form.set('view', { ...Object.fromEntries(before), kind });
  };
  const set = (change: Partial<View>) => {
    const before = view();
    if (before === null) return;
    const all = Object.entries({ ...before, ...change }).filter(([, value]) => (value ?? '').length > 0);
    const after = Object.fromEntries(all) as unknown as View;
    // A re-created select fires its value again, so equal values are ignored.
    if (JSON.stringify(after) !== JSON.stringify(before)) props.draft.form.set('view', after);
  };
  const errorOf = (name: Field | 'kind') => props.draft.error(`view.${name}` as never);
  const optionsOf = (name: 'x' | 'series', none: string) => {
    const chosen = view()?.[name];
    const names = new Set([...columns(), ...(chosen === undefined ? [] : [chosen])]);
    return [{ value: '', label: none }, ...[...names].map((value) => ({ value, label: value }))];
  };
  const column = (name: 'x' | 'series', label: string, none: string) => (
    <Select
      label={label}
      options={optionsOf(name, none)}
      value={view()?.[name] ?? ''}
      onChange={(value) => set({ [name]: value })}
      error={errorOf(name)}
    />
  );
  return (
    <div class="panel-body stack">
      <div class="grid-2">
        <Select
          label="Drawn as"
          hint="In clients with MCP Apps, such as Claude and ChatGPT. Others show the text."
          options={KINDS}
          value={view()?.kind ?? FITS}
          onChange={chooseKind}
          error={errorOf('kind') ?? props.draft.error('view')}
        />
        <Show when={fields().includes('title')}>
          <TextField
            label="Heading"
            optional
            value={view()?.title ?? ''}
            onInput={(title) => set({ title })}
            error={errorOf('title')}
          />
        </Show>
        <Show when={fields().includes('x')}>{column('x', 'Axis', 'Automatic')}</Show>
        <Show when={fields().includes('y')}>
          <TagsField
            label={isChart(view()?.kind ?? 'none') ? 'Numbers' : 'Columns'}
            optional
            value={view()?.y ?? []}
            onChange={(y) => set({ y })}
            suggestions={columns()}
            error={errorOf('y')}
          />
        </Show>
        <Show when={fields().includes('series')}>{column('series', 'Split by', 'Nothing')}</Show>
        <Show when={fields().includes('format')}>
          <TextField
            label="Number format"
            optional
            hint="integer, decimal, compact, percent, bytes, or a currency such as EUR."
            value={view()?.format ?? ''}
            onInput={(format) => set({ format })}
            error={errorOf('format')}
          />
        </Show>
      </div>
      <Show when={view()?.kind !== 'none'}>
        <Framed statement={props.draft.statement} view={view()} />
      </Show>
    </div>
  );
}

/** The newest result in a frame like a client's, with about its width and its colours. */
function Framed(props: { statement: Statement; view: View | null }) {
  const [client, setClient] = createSignal('claude');
  const [theme, setTheme] = createSignal<'light' | 'dark'>('light');
  const drawn = () => {
    const model = props.statement.result()?.model;
    return model?.['structuredContent'] === undefined ? undefined : model;
  };
  return (
    <Show when={drawn()} fallback={<p class="soft small">Run the statement to see how clients draw its result.</p>}>
      {(result) => (
        <div class="stack" data-gap="2">
          <div class="row">
            <SegmentedControl label="Client" value={client()} onChange={setClient} options={CLIENTS} />
            <SegmentedControl label="Theme" value={theme()} onChange={setTheme} options={THEMES} />
          </div>
          <div class="view-frame" data-client={client()} data-scheme={theme()}>
            {/* A new element per theme: the rendered result reads the colours of its frame. */}
            <For each={[theme()]}>{(one) => <DrawnResult result={result()} view={props.view} theme={one} />}</For>
          </div>
        </div>
      )}
    </Show>
  );
}
