import { createMemo, createSignal, For, Match, Show, Switch as Choose } from 'solid-js';
import type { Connection } from '#core/contract/connections.ts';
import type { Parameter } from '#core/contract/parameters.ts';
import { type Prompt, PromptDraft } from '#core/contract/prompts.ts';
import { AboutPanel } from '#ui/src/components/builder/about-panel.tsx';
import { ArgumentForm } from '#ui/src/components/builder/argument-form.tsx';
import { BuilderFrame } from '#ui/src/components/builder/builder-frame.tsx';
import { ModelView, ScriptView } from '#ui/src/components/builder/model-view.tsx';
import { ParameterTable } from '#ui/src/components/builder/parameter-table.tsx';
import { useBuilder } from '#ui/src/components/builder/use-builder.ts';
import { useDraftCheck } from '#ui/src/components/builder/use-draft-check.ts';
import { BUILDER_WORDS } from '#ui/src/components/builder/words.ts';
import { Notice } from '#ui/src/components/notice.tsx';
import { Panel } from '#ui/src/components/panel.tsx';
import { Select } from '#ui/src/components/select.tsx';
import { toPromptDraft } from '#ui/src/kernel/builder-drafts.ts';
import { asArgument, asParameter, messagesOf, namesUsed, withMessages } from '#ui/src/kernel/builder-messages.ts';
import type { Path } from '#ui/src/kernel/form.ts';
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
  const [entered, setEntered] = createSignal<Readonly<Record<string, string | undefined>>>({});
  const builder = useBuilder<PromptDraft, Prompt>({
    noun: 'prompts',
    schema: PromptDraft,
    initial: () => props.initial,
    stored: () => props.prompt,
    labels: PROMPT_LABELS,
    unsaved: WORDS.unsaved,
    draftOf: toPromptDraft,
    create: (draft) => call('prompts.create', draft),
    update: (change) => call('prompts.update', change),
    read: (id) => call('prompts.get', { id }),
    example: ['description', 'template', 'messages'],
    onSaved: (saved) => props.onSaved(saved),
  });
  const { form, save } = builder;

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
  const rendered = () => check.data()?.messages ?? [];

  return (
    <BuilderFrame
      form={form}
      fresh={props.prompt === undefined}
      save={props.prompt === undefined ? WORDS.create : WORDS.save}
      side={builder.side()}
      onSide={builder.setSide}
      onRun={() => builder.preview()}
      reveal={builder.reveal()}
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
      script={() => <ScriptView {...builder.snippets()} />}
    >
      <Panel title={WORDS.messages} lead={WORDS.messages_lead}>
        <div class="panel-body">
          <MessageList
            messages={messages()}
            arguments={parameters().map(({ name }) => name)}
            onChange={(list) => form.change((draft) => void Object.assign(draft, withMessages(list)))}
            error={(index) => error(form.values.messages === null ? 'template' : `messages.${index}.template`)}
            onSave={save}
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
      <AboutPanel form={form} error={error} tags={props.tags} words={WORDS}>
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
      </AboutPanel>
    </BuilderFrame>
  );
}
