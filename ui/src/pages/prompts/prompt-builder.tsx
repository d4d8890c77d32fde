import { createEffect, createMemo, createSignal, Match, on, Show, Switch as Choose } from 'solid-js';
import { lazyPart } from '#ui/src/components/show/lazy-part.tsx';
import type { Parameter } from '#core/contract/definitions/parameters.ts';
import { type Prompt, PromptDraft } from '#core/contract/definitions/prompts.ts';
import { AboutPanel } from '#ui/src/features/builder/about-panel.tsx';
import { ArgumentForm } from '#ui/src/features/run/argument-form.tsx';
import { BuilderFrame } from '#ui/src/features/builder/builder-frame.tsx';
import { ModelView, ScriptView } from '#ui/src/features/builder/lazy-views.tsx';
import { ParameterTable } from '#ui/src/features/builder/parameters/parameter-table.tsx';
import { followParameters } from '#ui/src/features/builder/parameters/parameters.ts';
import { type BuilderProps, useBuilder } from '#ui/src/features/builder/use-builder.ts';
import { ownId, useDraftCheck } from '#ui/src/features/builder/use-draft-check.ts';
import { toResult } from '#ui/src/features/run/result.ts';
import { NOBODY } from '#ui/src/features/run/caller-choice.ts';
import { asCaller } from '#ui/src/features/builder/use-statement.ts';
import { Notice } from '#ui/src/components/notice.tsx';
import { KeepTest } from '#ui/src/features/tests/keep-test.tsx';
import { nameFor, type NewTest } from '#ui/src/features/tests/kept.ts';
import { testsOf } from '#ui/src/features/tests/tests-of.tsx';
import { Panel } from '#ui/src/components/panel.tsx';
import { Select } from '#ui/src/components/form/select.tsx';
import { toPromptDraft } from '#ui/src/features/builder/drafts.ts';
import { asArgument, asParameter, messagesOf, withMessages } from '#ui/src/features/builder/messages.ts';
import type { Path } from '#ui/src/kernel/form/form.ts';
import { lintOf } from '#ui/src/features/checks/lint-of.tsx';
import { LintNotes } from '#ui/src/features/checks/lint-notes.tsx';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { MessageList } from './message-list.tsx';

const NONE = 'none';
/** Loaded when somebody has tried the prompt, or may run it as somebody else. */
const ShowAs = lazyPart(async () => (await import('#ui/src/features/run/show-as.tsx')).ShowAs);
const ResultView = lazyPart(async () => (await import('#ui/src/features/run/result-view.tsx')).ResultView);
/** A message that is still to be written is no fault yet. */
const written = (template: string): string => (template === '' ? ' ' : template);

/** One prompt: its messages, their arguments, and what they become. */
export function PromptBuilder(props: BuilderProps<PromptDraft, Prompt>) {
  const { call } = useKernel();
  const [entered, setEntered] = createSignal<Readonly<Record<string, string | undefined>>>({});
  const builder = useBuilder<PromptDraft, Prompt>({
    noun: 'prompts',
    schema: PromptDraft,
    props,
    draftOf: toPromptDraft,
    check: ({ template, messages: list }): { template?: string } =>
      template === null && list === null ? { template: 'Must not be empty.' } : {},
    create: (draft) => call('prompts.create', draft),
    update: (change) => call('prompts.update', change),
    read: (id) => call('prompts.get', { id }),
    example: ['description', 'template', 'messages'],
  });
  const { form, save } = builder;

  const messages = () => messagesOf(form.values);
  const [choice, setChoice] = createSignal(NOBODY);
  const caller = () => choice().caller;
  const reads_caller = createMemo(() => messages().some(({ template }) => template.includes('caller')));
  const parameters = createMemo(() => form.values.arguments.map(asParameter));
  const values = () =>
    Object.fromEntries(
      parameters().map(({ name, enum: choices, required }) => [
        name,
        entered()[name] ?? (required ? String(choices?.[0] ?? `‹${name}›`) : ''),
      ]),
    );
  /** What the shown messages were made with: the fields may have changed since. */
  const [shown, setShown] = createSignal<{ values: Readonly<Record<string, string>>; caller: ReturnType<typeof caller> }>();
  const check = useDraftCheck({
    schema: form.schema,
    watch: () => [
      form.values.name,
      form.values.title,
      form.values.description,
      form.values.template,
      JSON.stringify(form.values.messages),
      JSON.stringify(form.values.arguments),
      values(),
      JSON.stringify(caller()),
    ],
    async load(signal) {
      const { name, title, description, tags, template, messages: list, arguments: own } = form.snapshot();
      if (messages().every((message) => message.template.trim() === '')) return undefined;
      const texts = {
        template: template === null ? null : written(template),
        messages: list?.map((message) => ({ ...message, template: written(message.template) })) ?? null,
      };
      const sent = { values: values(), caller: caller() };
      const answer = await call(
        'preview.prompt',
        {
          ...ownId(props.entity),
          name,
          title,
          description,
          tags,
          ...texts,
          arguments: own,
          values: sent.values,
          ...asCaller(sent.caller),
        },
        signal,
      );
      if (!signal.aborted) setShown(sent);
      return answer;
    },
    sql: () => '',
  });
  const followed = followParameters();
  createEffect(
    on(
      () => check.data()?.variables,
      (names) => {
        if (names === undefined) return;
        const before = parameters();
        const after = followed.follow(before, names);
        if (after.length !== before.length || after.some((one, place) => one !== before[place]))
          form.set('arguments', after.map(asArgument));
      },
    ),
  );
  const error = (path: Path<PromptDraft>) => form.error(path) ?? check.error(path);
  const notes = (path: string) => <LintNotes findings={check.lint(path)} onFix={(changes) => builder.change(changes)} />;
  const rendered = createMemo(() => {
    const list = check.data()?.messages ?? [];
    const given = list.map(({ role, text }) => ({ role, content: { type: 'text', text } }));
    return list.length === 0 ? undefined : toResult({ messages: given });
  });

  const keptAs = ({ id, name }: Prompt): NewTest => {
    const seen = shown();
    // An optional argument that is left empty is not sent.
    const sent = Object.fromEntries(Object.entries(seen?.values ?? {}).filter(([, value]) => value !== ''));
    return {
      owner: { kind: 'prompt', id },
      name: nameFor(name, sent),
      arguments: sent,
      caller: asCaller(seen?.caller).caller ?? null,
      expect: { equals: check.data()?.messages },
    };
  };

  return (
    <BuilderFrame
      form={form}
      fresh={props.entity === undefined}
      save={props.entity === undefined ? 'Create prompt' : 'Save prompt'}
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
          <Show when={reads_caller()}>
            <ShowAs
              label="Preview as"
              nobody="Nobody"
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
                        <KeepTest about={() => keptAs(stored())} />
                      </div>
                    )}
                  </Show>
                </>
              )}
            </Match>
          </Choose>
        </div>
      )}
      model={() => <ModelView checked={check.data()} problem={check.problem()} pending={check.pending()} />}
      script={() => <ScriptView {...builder.request()} />}
      tests={testsOf('prompt', props.entity)}
      findings={lintOf('prompt', props.entity)}
    >
      <Panel title="Messages" lead={'Templates: {{ topic }} is an argument, {{ vars.name }} a variable of the server.'} flush>
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
      <Panel title="Arguments" count={form.values.arguments.length} flush>
        <div class="panel-body">
          <ParameterTable
            label="Arguments"
            arguments
            value={parameters()}
            onChange={(list: Parameter[]) => form.set('arguments', list.map(asArgument))}
            error={(path) => error(`arguments.${path}`)}
            notes={(place) => notes(`arguments.${place}`)}
            used={check.data()?.variables ?? parameters().map(({ name }) => name)}
            empty={'Write {{ topic }} in a message and its argument appears here.'}
          />
        </div>
      </Panel>
      <AboutPanel
        form={form}
        error={error}
        notes={notes}
        tags={props.tags}
        title="About the prompt"
        hints={{
          name: 'Letters, digits, _ and -. Clients often show it as /name.',
          description: 'What the request is for.',
        }}
      >
        <Select
          label="Belongs to"
          options={[
            { value: NONE, label: 'No connection' },
            ...props.connections.map(({ id, name }) => ({ value: id, label: name })),
          ]}
          value={form.values.connection_id ?? NONE}
          onChange={(id: string) => form.set('connection_id', id === NONE ? null : id)}
          hint="A prompt that belongs to a connection is deleted with it."
          error={error('connection_id')}
        />
      </AboutPanel>
    </BuilderFrame>
  );
}
