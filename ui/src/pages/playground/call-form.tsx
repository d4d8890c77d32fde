import { createEffect, createSignal, For, on, onCleanup, onMount, Show } from 'solid-js';
import { Button } from '#ui/src/components/button.tsx';
import { SegmentedControl } from '#ui/src/components/choice.tsx';
import { TextArea } from '#ui/src/components/field.tsx';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { isMembers, type Members } from '#ui/src/kernel/playground-client.ts';
import { fill, fromJson, type Texts, toTexts } from '#ui/src/kernel/playground-form.ts';
import type { Offer, Playground, Run } from '#ui/src/kernel/playground.ts';
import { ArgumentInput } from './argument-input.tsx';
import { WORDS } from './words.ts';

const RUN_WORD = { tool: WORDS.run, resource: WORDS.read, template: WORDS.read, prompt: WORDS.get } as const;
/** Proposals are asked for at most so many arguments. */
const MOST_COMPLETED = 10;

/** The arguments of one tool, template or prompt, as a form or as JSON, and the button that sends them. */
export function CallForm(props: { state: Playground; offer: Offer; again: Run | undefined }) {
  const { commands } = useKernel();
  const [texts, setTexts] = createSignal<Texts>({});
  const [errors, setErrors] = createSignal<Readonly<Record<string, string>>>({});
  const [view, setView] = createSignal<'form' | 'json'>('form');
  const [json, setJson] = createSignal('{}');
  const [fault, setFault] = createSignal<string>();
  const [proposals, setProposals] = createSignal<Readonly<Record<string, readonly string[]>>>({});
  let form: HTMLFormElement | undefined;

  // A call that is looked at again brings its arguments with it.
  createEffect(
    on(
      () => props.again?.id,
      () => {
        const values = props.again?.values;
        if (values === undefined) return;
        setTexts(toTexts(values));
        setJson(JSON.stringify(values, null, 2));
      },
    ),
  );
  onMount(() => {
    if (props.offer.noun !== 'prompt') return;
    for (const { name } of props.offer.fields.slice(0, MOST_COMPLETED)) {
      void props.state.complete(props.offer, name, '').then((values) => {
        if (values.length > 0) setProposals((all) => ({ ...all, [name]: values }));
      });
    }
  });

  const write = (name: string, value: string) => {
    setTexts({ ...texts(), [name]: value });
    const { [name]: _, ...rest } = errors();
    setErrors(rest);
  };
  const show = (next: 'form' | 'json') => {
    if (next === 'json') setJson(JSON.stringify(fill(props.offer.fields, texts()).values, null, 2));
    else {
      const parsed = fromJson(json());
      if ('value' in parsed && isMembers(parsed.value)) setTexts(toTexts(parsed.value));
    }
    setFault(undefined);
    setErrors({});
    setView(next);
  };
  /** The arguments to send, or undefined when something is wrong with them. */
  const given = (): Members | undefined => {
    if (view() === 'json') {
      const parsed = fromJson(json());
      const wrong = 'fault' in parsed ? parsed.fault : isMembers(parsed.value) ? undefined : WORDS.not_object;
      setFault(wrong);
      return wrong === undefined && 'value' in parsed ? (parsed.value as Members) : undefined;
    }
    const filled = fill(props.offer.fields, texts());
    setErrors(filled.errors);
    if (Object.keys(filled.errors).length === 0) return filled.values;
    queueMicrotask(() => form?.querySelector<HTMLElement>('[aria-invalid=true]')?.focus());
    return undefined;
  };
  const send = (event?: Event) => {
    event?.preventDefault();
    const values = given();
    if (values !== undefined) void props.state.run(props.offer, values);
  };
  onCleanup(
    commands.register([
      { id: 'play-run', title: 'Call with these arguments (Ctrl Enter)', group: 'This page', run: send },
      {
        id: 'play-cancel',
        title: 'Cancel the call',
        group: 'This page',
        enabled: () => props.state.running(),
        run: () => props.state.cancel(),
      },
    ]),
  );

  return (
    <form
      ref={(element) => (form = element)}
      class="stack"
      novalidate
      onSubmit={send}
      // Before the field itself: Enter opens the list of a choice.
      on:keydown={{
        capture: true,
        handleEvent: (event: KeyboardEvent) => {
          if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
          event.stopPropagation();
          send(event);
        },
      }}
    >
      <Show when={props.offer.fields.length > 0} fallback={<p class="soft small">{WORDS.no_arguments}</p>}>
        <div class="play-views">
          <h3>{WORDS.arguments}</h3>
          <SegmentedControl
            label={WORDS.arguments}
            value={view()}
            onChange={show}
            options={[
              { value: 'form', label: WORDS.form },
              { value: 'json', label: WORDS.json },
            ]}
          />
        </div>
        <Show
          when={view() === 'form'}
          fallback={
            <TextArea label={WORDS.json_arguments} hide_label mono rows={8} value={json()} onInput={setJson} error={fault()} />
          }
        >
          <div class="play-fields">
            <For each={props.offer.fields}>
              {(field) => (
                <ArgumentInput
                  field={field}
                  value={texts()[field.name] ?? ''}
                  error={errors()[field.name]}
                  proposals={proposals()[field.name]}
                  onInput={(value) => write(field.name, value)}
                />
              )}
            </For>
          </div>
        </Show>
      </Show>
      <div class="row">
        <Button type="submit" kind="primary" icon="play" busy={props.state.running()}>
          {RUN_WORD[props.offer.noun]}
        </Button>
        <Show when={props.state.running()}>
          <Button icon="stop" onPress={props.state.cancel}>
            {WORDS.cancel}
          </Button>
        </Show>
        <span class="faint small">
          <kbd>Ctrl</kbd> <kbd>Enter</kbd>
        </span>
      </div>
    </form>
  );
}
