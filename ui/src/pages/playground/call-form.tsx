import { createEffect, createSignal, on, onMount, Show } from 'solid-js';
import { Button } from '#ui/src/components/button.tsx';
import { SegmentedControl } from '#ui/src/components/form/choice.tsx';
import { TextArea } from '#ui/src/components/form/field.tsx';
import { withMod } from '#ui/src/kernel/keys.ts';
import { useCommands } from '#ui/src/kernel/kernel.ts';
import { isMembers, type Members } from '#core/lib/view/table.ts';
import { ArgumentForm } from '#ui/src/features/run/argument-form.tsx';
import { parseEntry, toArguments } from '#ui/src/features/run/arguments.ts';
import { toEntered } from '#ui/src/features/run/schema-fields.ts';
import { useArguments } from '#ui/src/features/run/use-arguments.ts';
import type { SavedCall } from './saved-calls.ts';
import type { Offer, Playground, Run } from './state.ts';

const RUN_WORD = { tool: 'Call', resource: 'Read', template: 'Read', prompt: 'Get' } as const;
/** Completions are requested for at most this many arguments. */
const MOST_COMPLETED = 10;

/** The arguments of a tool, template or prompt, as a form or as JSON, and the button that sends them. */
export function CallForm(props: {
  state: Playground;
  offer: Offer;
  again: Run | undefined;
  given: SavedCall | undefined;
  /** The arguments of `given` were copied into the form. */
  onGiven: () => void;
}) {
  const entries = useArguments(() => props.offer.fields);
  const [view, setView] = createSignal<'form' | 'json'>('form');
  const [json, setJson] = createSignal('{}');
  const [fault, setFault] = createSignal<string>();
  const [proposals, setProposals] = createSignal<Readonly<Record<string, readonly string[]>>>({});
  let form: HTMLFormElement | undefined;
  /** The arguments of the running call: its answer does not reset later edits. */
  let sent: Members | undefined;

  const begin = (values: Members) => {
    entries.begin(toEntered(values));
    setJson(JSON.stringify(values, null, 2));
  };
  // A call selected from the history or the saved calls fills the form.
  createEffect(
    on(
      () => props.again?.id,
      () => {
        if (props.again !== undefined && props.again.values !== sent) begin(props.again.values);
        sent = undefined;
      },
    ),
  );
  createEffect(
    on(
      () => props.given,
      (call) => {
        if (call === undefined) return;
        begin(call.values);
        props.onGiven();
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

  const show = (next: 'form' | 'json') => {
    const parsed = parseEntry(json(), { type: 'json' });
    if (next === 'json') setJson(JSON.stringify(toArguments(props.offer.fields, entries.texts()).values, null, 2));
    entries.begin(next === 'form' && 'value' in parsed && isMembers(parsed.value) ? toEntered(parsed.value) : entries.texts());
    setFault(undefined);
    setView(next);
  };
  /** The arguments to send, or undefined when they are invalid. */
  const given = (): Members | undefined => {
    if (view() === 'json') {
      const parsed = parseEntry(json(), { type: 'json' });
      const wrong =
        'value' in parsed && isMembers(parsed.value) ? undefined : 'Enter the arguments as a JSON object, such as {"id": 1}.';
      setFault(wrong);
      return wrong === undefined && 'value' in parsed ? (parsed.value as Members) : undefined;
    }
    return entries.given(form);
  };
  const send = (event?: Event) => {
    event?.preventDefault();
    const values = given();
    if (values === undefined || props.state.running()) return;
    sent = values;
    void props.state.run(props.offer, values);
  };
  useCommands([
    { id: 'play-run', title: `Call with these arguments (${withMod('Enter')})`, group: 'This page', run: send },
    {
      id: 'play-cancel',
      title: 'Cancel the call',
      group: 'This page',
      enabled: () => props.state.running(),
      run: () => props.state.cancel(),
    },
  ]);

  return (
    <form
      ref={(element) => (form = element)}
      class="stack"
      novalidate
      onSubmit={send}
      // Capture phase: Enter would open the list of a combobox first.
      on:keydown={{
        capture: true,
        handleEvent: (event: KeyboardEvent) => {
          if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
          event.stopPropagation();
          send(event);
        },
      }}
    >
      <Show when={props.offer.fields.length > 0} fallback={<p class="soft small">It takes no arguments.</p>}>
        <div class="play-views">
          <h3>Arguments</h3>
          <SegmentedControl
            label="Arguments"
            value={view()}
            onChange={show}
            options={[
              { value: 'form', label: 'Form' },
              { value: 'json', label: 'JSON' },
            ]}
          />
        </div>
        <Show
          when={view() === 'form'}
          fallback={
            <TextArea label="Arguments as JSON" hide_label mono rows={8} value={json()} onInput={setJson} error={fault()} />
          }
        >
          <ArgumentForm
            parameters={props.offer.fields}
            described
            entered={entries.texts()}
            proposals={proposals()}
            onInput={entries.write}
            error={entries.error}
          />
        </Show>
      </Show>
      <div class="row">
        <Button type="submit" kind="primary" icon="play" busy={props.state.running()}>
          {RUN_WORD[props.offer.noun]}
        </Button>
        <Show when={props.state.running()}>
          <Button icon="stop" onPress={props.state.cancel}>
            Cancel
          </Button>
        </Show>
        <span class="faint small">
          <kbd>{withMod('Enter')}</kbd>
        </span>
      </div>
    </form>
  );
}
