import { createMemo, createSignal, For, Match, Show, Switch as Choose } from 'solid-js';
import type { Connection } from '#core/contract/connections.ts';
import type { Parameter } from '#core/contract/parameters.ts';
import { type Prompt, PromptDraft } from '#core/contract/prompts.ts';
import { ArgumentForm } from '#ui/src/components/builder/argument-form.tsx';
import { BuilderFrame, type Side } from '#ui/src/components/builder/builder-frame.tsx';
import { ModelView, ScriptView } from '#ui/src/components/builder/model-view.tsx';
import { ParameterTable } from '#ui/src/components/builder/parameter-table.tsx';
import { useDraftCheck } from '#ui/src/components/builder/use-draft-check.ts';
import { BUILDER_WORDS } from '#ui/src/components/builder/words.ts';
import { Switch } from '#ui/src/components/choice.tsx';
import { TextArea, TextField } from '#ui/src/components/field.tsx';
import { Notice } from '#ui/src/components/notice.tsx';
import { Panel } from '#ui/src/components/panel.tsx';
import { Select } from '#ui/src/components/select.tsx';
import { TagsField } from '#ui/src/components/tags-field.tsx';
import { useForm } from '#ui/src/components/use-form.ts';
import { changedFields, toPromptDraft } from '#ui/src/kernel/builder-drafts.ts';
import { asArgument, asParameter, messagesOf, namesUsed, withMessages } from '#ui/src/kernel/builder-messages.ts';
import { snippetsOf } from '#ui/src/kernel/builder-snippets.ts';
import type { Form, Path } from '#ui/src/kernel/form.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { tokensOf } from '#ui/src/kernel/playground-result.ts';
import { MessageList } from './message-list.tsx';
import { PROMPT_LABELS, PROMPT_WORDS as WORDS } from './words.ts';

interface PromptBuilderProps {
  connections: readonly Connection[];
  tags: readonly string[];
  initial: PromptDraft;
  /** The stored prompt; absent while it is new. */
  prompt?: Prompt | undefined;
  onSaved: (prompt: Prompt) => void;
}

const NONE = 'none';
/** A message that is still to be written is no fault yet. */
const written = (template: string): string => (template === '' ? ' ' : template);

/** One prompt: its messages, their arguments, and what they become. */
export function PromptBuilder(props: PromptBuilderProps) {
  const { call } = useKernel();
  // A page is made anew for another prompt.
  // oxlint-disable-next-line solid/reactivity
  let stored = props.prompt;
  const [side, setSide] = createSignal<Side>('preview');
  const [reveal, setReveal] = createSignal(0);
  const [entered, setEntered] = createSignal<Readonly<Record<string, string | undefined>>>({});

  const form: Form<PromptDraft> = useForm<PromptDraft, Prompt>({
    schema: PromptDraft,
    initial: () => props.initial,
    labels: PROMPT_LABELS,
    unsaved: WORDS.unsaved,
    async submit(values) {
      if (stored === undefined) return call('prompts.create', values);
      return call('prompts.update', { id: stored.id, version: stored.version, ...changedFields(values, form.changed()) });
    },
    async latest() {
      stored = await call('prompts.get', { id: stored?.id ?? '' });
      return toPromptDraft(stored);
    },
    onDone(prompt) {
      stored = prompt;
      form.reset(toPromptDraft(prompt));
      props.onSaved(prompt);
    },
  });

  const messages = () => messagesOf(form.values);
  const parameters = createMemo(() => form.values.arguments.map(asParameter));
  const values = () =>
    Object.fromEntries(
      parameters().map(({ name, enum: choices, required }) => [
        name,
        entered()[name] ?? (required ? String(choices?.[0] ?? `‹${name}›`) : ''),
      ]),
    );
  const check = useDraftCheck({
    watch: () => [
      form.values.name,
      form.values.title,
      form.values.description,
      form.values.template,
      JSON.stringify(form.values.messages),
      JSON.stringify(form.values.arguments),
      values(),
    ],
    async load(signal) {
      const { name, title, description, tags, template, messages: list, arguments: own } = form.snapshot();
      if (messages().every((message) => message.template.trim() === '')) return undefined;
      const texts = {
        template: template === null ? null : written(template),
        messages: list?.map((message) => ({ ...message, template: written(message.template) })) ?? null,
      };
      return call('preview.prompt', { name, title, description, tags, ...texts, arguments: own, values: values() }, signal);
    },
    sql: () => '',
  });
  const error = (path: Path<PromptDraft>) => form.error(path) ?? check.error(path);
  const snippets = createMemo(() => {
    if (props.prompt === undefined) return snippetsOf('prompts.create', window.location.origin, { ...form.values });
    const { id, version } = props.prompt;
    const changed = form.changed();
    const names = changed.length > 0 ? changed : (['description', 'template', 'messages'] as const);
    return snippetsOf('prompts.update', window.location.origin, { id, version, ...changedFields(form.values, names) });
  });
  const rendered = () => check.data()?.messages ?? [];

  return (
    <BuilderFrame
      form={form}
      fresh={props.prompt === undefined}
      save={props.prompt === undefined ? WORDS.create : WORDS.save}
      side={side()}
      onSide={setSide}
      onRun={() => {
        setSide('preview');
        setReveal(reveal() + 1);
      }}
      reveal={reveal()}
      preview={() => (
        <div class="stack">
          <Show when={parameters().length > 0}>
            <ArgumentForm
              parameters={parameters()}
              entered={entered()}
              onInput={(name, value) => setEntered((before) => ({ ...before, [name]: value }))}
              error={() => undefined}
            />
          </Show>
          <Choose fallback={<p class="soft small">{WORDS.no_rendered}</p>}>
            <Match when={check.problem()}>{(problem) => <Notice tone="bad">{problem().detail}</Notice>}</Match>
            <Match when={check.data()?.template_error}>
              {(detail) => (
                <Notice tone="bad" title={WORDS.failed}>
                  {detail()}
                </Notice>
              )}
            </Match>
            <Match when={rendered().length > 0}>
              <For each={rendered()}>
                {(message) => (
                  <section class="rendered" data-role={message.role} aria-label={WORDS[message.role]}>
                    <h3 class="small">{WORDS[message.role]}</h3>
                    <p class="rendered-text">{message.text}</p>
                  </section>
                )}
              </For>
              <p class="small faint num">
                {BUILDER_WORDS.size(
                  rendered().reduce((sum, { text }) => sum + new TextEncoder().encode(text).length, 0),
                  rendered().reduce((sum, { text }) => sum + tokensOf(text), 0),
                )}
              </p>
            </Match>
          </Choose>
        </div>
      )}
      model={() => <ModelView judged={check.data()} problem={check.problem()} pending={check.pending()} />}
      script={() => <ScriptView {...snippets()} />}
    >
      <Panel title={WORDS.messages} lead={WORDS.messages_lead}>
        <div class="panel-body">
          <MessageList
            messages={messages()}
            arguments={parameters().map(({ name }) => name)}
            onChange={(list) => form.change((draft) => void Object.assign(draft, withMessages(list)))}
            error={(index) => error(form.values.messages === null ? 'template' : `messages.${index}.template`)}
            onSave={() => void form.submit()}
          />
        </div>
      </Panel>
      <Panel title={BUILDER_WORDS.arguments} count={form.values.arguments.length}>
        <div class="panel-body">
          <ParameterTable
            label={BUILDER_WORDS.arguments}
            arguments
            value={parameters()}
            onChange={(list: Parameter[]) => form.set('arguments', list.map(asArgument))}
            error={(path) => error(`arguments.${path}`)}
            used={namesUsed(messages())}
            empty={BUILDER_WORDS.no_arguments}
          />
        </div>
      </Panel>
      <Panel title={WORDS.about}>
        <div class="panel-body stack">
          <div class="grid-2">
            <TextField label={WORDS.name} required mono hint={WORDS.name_hint} {...form.text('name')} error={error('name')} />
            <TextField label={WORDS.display_title} optional {...form.text('title')} error={error('title')} />
          </div>
          <TextArea
            label={WORDS.description}
            required
            rows={3}
            hint={WORDS.description_hint}
            {...form.text('description')}
            error={error('description')}
          />
          <Select
            label={WORDS.connection}
            options={[
              { value: NONE, label: WORDS.no_connection },
              ...props.connections.map(({ id, name }) => ({ value: id, label: name })),
            ]}
            value={form.values.connection_id ?? NONE}
            onChange={(id: string) => form.set('connection_id', id === NONE ? null : id)}
            hint={WORDS.connection_hint}
            error={error('connection_id')}
          />
          <TagsField
            label={WORDS.tags}
            optional
            value={form.values.tags}
            onChange={(tags) => form.set('tags', tags)}
            suggestions={props.tags}
            error={error('tags')}
          />
          <Switch label={WORDS.enabled} hint={WORDS.enabled_hint} {...form.flag('enabled')} />
        </div>
      </Panel>
    </BuilderFrame>
  );
}
