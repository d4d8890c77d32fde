import { createEffect, createMemo, createSignal, Match, on, Show, Switch as Choose } from 'solid-js';
import { lazyPart } from '#ui/src/components/show/lazy-part.tsx';
import type { RawInput } from '#core/contract/index.ts';
import type { Parameter } from '#core/contract/definitions/parameters.ts';
import { type Prompt, PromptDraft } from '#core/contract/definitions/prompts.ts';
import { AboutPanel } from '#ui/src/features/builder/about-panel.tsx';
import { ArgumentForm } from '#ui/src/features/run/argument-form.tsx';
import { BuilderFrame } from '#ui/src/features/builder/builder-frame.tsx';
import { ParameterTable } from '#ui/src/features/builder/parameters/parameter-table.tsx';
import { followParameters } from '#ui/src/features/builder/parameters/parameters.ts';
import { type DefinitionProps, useDefinitionDraft } from '#ui/src/features/builder/definition-draft.ts';
import { toResult } from '#ui/src/features/run/result.ts';
import { NO_CALLER_CHOSEN } from '#ui/src/features/run/caller-choice.ts';
import { asCaller } from '#ui/src/features/builder/use-statement.ts';
import { Notice } from '#ui/src/components/notice.tsx';
import { KeepTest } from '#ui/src/features/tests/keep-test.tsx';
import { nameFor, type NewTest } from '#ui/src/features/tests/expectation.ts';
import { Panel } from '#ui/src/components/panel.tsx';
import { Select } from '#ui/src/components/form/select.tsx';
import { toPromptDraft } from '#ui/src/features/builder/drafts.ts';
import { asArgument, asParameter, messagesOf, withMessages } from '#ui/src/features/builder/messages.ts';
import { LintNotes } from '#ui/src/features/checks/lint-notes.tsx';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { MessageList } from './message-list.tsx';

const NONE = 'none';
/** Loaded after the first preview, or when runs as another caller are allowed. */
const ShowAs = lazyPart(async () => (await import('#ui/src/features/run/show-as.tsx')).ShowAs);
const ResultView = lazyPart(async () => (await import('#ui/src/features/run/result-view.tsx')).ResultView);
/** An empty message is no error before it is written. */
const written = (template: string): string => (template === '' ? ' ' : template);

/** A prompt: its messages, their arguments, and a preview. */
export function PromptBuilder(props: DefinitionProps<PromptDraft, Prompt>) {
  const { call } = useKernel();
  const [entered, setEntered] = createSignal<Readonly<Record<string, string | undefined>>>({});
  const [choice, setChoice] = createSignal(NO_CALLER_CHOSEN);
  const valuesOf = (list: PromptDraft['arguments']) =>
    Object.fromEntries(
      list.map(({ name, enum: choices, required }) => [name, entered()[name] ?? (required ? (choices?.[0] ?? `‹${name}›`) : '')]),
    );
  /** The inputs of the shown messages: the fields may have changed since. */
  const [shown, setShown] = createSignal<Pick<RawInput<'preview.prompt'>, 'values' | 'caller'>>({});
  const draft = useDefinitionDraft({
    noun: 'prompts',
    schema: PromptDraft,
    props,
    toDraft: toPromptDraft,
    invalid: ({ template, messages: list }): { template?: string } =>
      template === null && list === null ? { template: 'Must not be empty.' } : {},
    create: (values) => call('prompts.create', values),
    update: (change) => call('prompts.update', change),
    read: (id) => call('prompts.get', { id }),
    example: ['description', 'template', 'messages'],
    input(values: PromptDraft) {
      if (messagesOf(values).every(({ template }) => template.trim() === '')) return undefined;
      const { name, title, description, tags, template, messages: list } = values;
      return {
        name,
        title,
        description,
        tags,
        template: template === null ? null : written(template),
        messages: list?.map((message) => ({ ...message, template: written(message.template) })) ?? null,
        arguments: values.arguments,
        values: valuesOf(values.arguments),
        ...asCaller(choice().caller),
      };
    },
    async check(input, signal) {
      const answer = await call('preview.prompt', input, signal);
      if (!signal.aborted) setShown(input);
      return answer;
    },
  });
  const { check, form } = draft;
  const messages = () => messagesOf(form.values);
  const reads_caller = createMemo(() => messages().some(({ template }) => template.includes('caller')));
  const parameters = createMemo(() => form.values.arguments.map(asParameter));
  const followed = followParameters();
  createEffect(
    on(
      () => check.data()?.variables,
      (names) => {
        if (names === undefined) return;
        const before = parameters();
        const after = followed.follow(before, names);
        if (after.length !== before.length || after.some((one, index) => one !== before[index]))
          form.set('arguments', after.map(asArgument));
      },
    ),
  );
  const rendered = createMemo(() => {
    const list = check.data()?.messages ?? [];
    const given = list.map(({ role, text }) => ({ role, content: { type: 'text', text } }));
    return list.length === 0 ? undefined : toResult({ messages: given });
  });

  const testOf = ({ id, name }: Pick<Prompt, 'id' | 'name'>): NewTest => {
    const { values = {}, caller = null } = shown();
    // An empty optional argument is not sent.
    const sent = Object.fromEntries(Object.entries(values).filter(([, value]) => value !== ''));
    return {
      owner: { kind: 'prompt', id },
      name: nameFor(name, sent),
      arguments: sent,
      caller,
      expect: { equals: check.data()?.messages },
    };
  };

  return (
    <BuilderFrame
      draft={draft}
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
          <Show when={reads_caller()}>
            <ShowAs
              label="Preview as"
              nobody="No caller"
              subject={props.entity === undefined ? undefined : { kind: 'prompt', id: props.entity.id }}
              choice={choice()}
              onChange={setChoice}
            />
          </Show>
          <Choose fallback={<p class="soft small">Write a message to preview it.</p>}>
            <Match when={check.problem()}>{(problem) => <Notice tone="bad">{problem().detail}</Notice>}</Match>
            <Match when={check.data()?.template_error}>
              {(detail) => (
                <Notice tone="bad" title="The template failed">
                  {detail()}
                </Notice>
              )}
            </Match>
            <Match when={rendered()}>
              {(result) => (
                <>
                  <ResultView label="Messages" result={result()} />
                  <Show when={props.entity}>
                    {(stored) => (
                      <div class="row">
                        <KeepTest about={() => testOf(stored())} />
                      </div>
                    )}
                  </Show>
                </>
              )}
            </Match>
          </Choose>
        </div>
      )}
    >
      <Panel title="Messages" lead={'Templates: {{ topic }} is an argument, {{ vars.name }} a variable of the server.'} flush>
        <div class="panel-body">
          <MessageList
            messages={messages()}
            arguments={parameters().map(({ name }) => name)}
            onChange={(list) => form.change((values) => void Object.assign(values, withMessages(list)))}
            error={(index) => draft.error(form.values.messages === null ? 'template' : `messages.${index}.template`)}
            onSave={() => void form.submit()}
          />
        </div>
      </Panel>
      <Panel title="Arguments" count={form.values.arguments.length} flush>
        <div class="panel-body">
          <ParameterTable
            label="Arguments"
            arguments
            value={parameters()}
            onChange={(list: Parameter[]) => form.set('arguments', list.map(asArgument))}
            error={(path) => draft.error(`arguments.${path}`)}
            notes={(index) => (
              <LintNotes findings={check.lint(`arguments.${index}`)} onFix={(changes) => draft.change(changes)} />
            )}
            used={check.data()?.variables ?? parameters().map(({ name }) => name)}
            empty={'Write {{ topic }} in a message and its argument appears here.'}
          />
        </div>
      </Panel>
      <AboutPanel draft={draft}>
        <Select
          label="Belongs to"
          options={[
            { value: NONE, label: 'No connection' },
            ...props.connections.map(({ id, name }) => ({ value: id, label: name })),
          ]}
          value={form.values.connection_id ?? NONE}
          onChange={(id: string) => form.set('connection_id', id === NONE ? null : id)}
          hint="A prompt that belongs to a connection is deleted with it."
          error={draft.error('connection_id')}
        />
      </AboutPanel>
    </BuilderFrame>
  );
}
