import { createMemo, createSignal, For, Match, Show, Switch } from 'solid-js';
import type { OpenQuestion, ConfirmRequest } from '#ui/src/kernel/dialogs.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { compareThree, type MergeField, type MergeInput, mergeThree, type Merged } from '#ui/src/kernel/form/merge.ts';
import { plural } from '#ui/src/kernel/words.ts';
import { Button } from '#ui/src/components/button.tsx';
import { Dialog } from '#ui/src/components/dialog.tsx';
import { TextField } from '#ui/src/components/form/field.tsx';
import { Bullets } from '#ui/src/components/show/bullets.tsx';
import { FieldDiff } from '#ui/src/components/show/field-diff.tsx';
import { SegmentedControl } from '#ui/src/components/form/choice.tsx';
import { ProposeDialog } from './propose-dialog.tsx';
import { ProveDialog } from './prove-dialog.tsx';

/** A list with more is scrolled, by the keyboard too. */
const MANY = 6;

/** Shows what `dialogs` asks. */
export function AskedDialog() {
  const { dialogs } = useKernel();
  const of = <K extends OpenQuestion['kind']>(kind: K) => {
    const question = dialogs.question();
    return question?.kind === kind ? (question as Extract<OpenQuestion, { kind: K }>) : undefined;
  };
  return (
    <Switch>
      <Match when={of('confirm')} keyed>
        {({ request, answer }) => <Confirm request={request} onAnswer={answer} />}
      </Match>
      <Match when={of('prove')} keyed>
        {({ request, answer }) => <ProveDialog dangers={request} onAnswer={answer} />}
      </Match>
      <Match when={of('propose')} keyed>
        {({ request, answer }) => <ProposeDialog dangers={request} onAnswer={answer} />}
      </Match>
      <Match when={of('conflict')} keyed>
        {({ request, answer }) => <Conflict request={request} onAnswer={answer} />}
      </Match>
    </Switch>
  );
}

function Confirm(props: { request: ConfirmRequest; onAnswer: (agreed: boolean) => void }) {
  const [typed, setTyped] = createSignal('');
  const ready = () => props.request.type_to_confirm === undefined || typed().trim() === props.request.type_to_confirm;
  const agree = () => {
    if (ready()) props.onAnswer(true);
  };
  return (
    <Dialog
      open
      alert
      size="small"
      title={props.request.title}
      onClose={() => props.onAnswer(false)}
      {...(props.request.text === undefined ? {} : { lead: props.request.text })}
      foot={
        <>
          <Button
            data-autofocus={props.request.type_to_confirm === undefined ? '' : undefined}
            onPress={() => props.onAnswer(false)}
          >
            {props.request.cancel ?? 'Cancel'}
          </Button>
          <Button kind={props.request.danger ? 'danger' : 'primary'} blocked={!ready()} onPress={agree}>
            {props.request.action}
          </Button>
        </>
      }
    >
      <Show when={props.request.goes}>
        {(goes) => (
          <div>
            <p class="small soft">This will be deleted:</p>
            <Bullets small of={goes()} tabindex={goes().length > MANY ? 0 : undefined} />
          </div>
        )}
      </Show>
      <Show when={props.request.type_to_confirm}>
        {(name) => (
          <form
            onSubmit={(event) => {
              event.preventDefault();
              agree();
            }}
          >
            <TextField label={`Type ${name()} to confirm`} value={typed()} onInput={setTyped} mono />
          </form>
        )}
      </Show>
    </Dialog>
  );
}

function Conflict(props: { request: MergeInput; onAnswer: (merged: Merged | undefined) => void }) {
  const fields = createMemo(() => compareThree(props.request));
  const contested = () => fields().filter((field) => field.contested);
  const others = () => fields().filter((field) => !field.contested && field.take === 'theirs');
  const shared = () => fields().filter((field) => field.take === 'both');
  const [taken, setTaken] = createSignal<Readonly<Record<string, 'mine' | 'theirs'>>>({});
  const label = (name: string) => props.request.labels?.[name] ?? name;
  return (
    <Dialog
      open
      alert
      size="wide"
      title={props.request.title ?? 'Someone else saved this in the meantime'}
      lead="Choose which value to keep for each field that you both changed. All other changes are merged."
      onClose={() => props.onAnswer(undefined)}
      foot={
        <>
          <Button kind="quiet" onPress={() => props.onAnswer(undefined)}>
            Keep editing
          </Button>
          <Button onPress={() => props.onAnswer({ kind: 'theirs' })}>Use theirs, discard mine</Button>
          <Button
            kind="primary"
            data-autofocus=""
            onPress={() => props.onAnswer({ kind: 'merged', values: mergeThree(props.request, taken()) })}
          >
            Save merged version
          </Button>
        </>
      }
    >
      <For each={contested()} fallback={<p class="soft">You changed different things, so both changes can be kept.</p>}>
        {(field) => (
          <ContestedField
            field={field}
            label={label(field.name)}
            value={taken()[field.name] ?? 'mine'}
            onChange={(side) => setTaken({ ...taken(), [field.name]: side })}
          />
        )}
      </For>
      <Show when={shared().length > 0}>
        <p class="small soft">{`Fields with changes of both: ${shared()
          .map(({ name }) => label(name))
          .join(', ')}.`}</p>
        <FieldDiff
          changes={Object.fromEntries(shared().map(({ name, base, both }) => [name, { old: base, new: both }]))}
          labels={props.request.labels ?? {}}
        />
      </Show>
      <Show when={others().length > 0}>
        <p class="small soft">
          {plural(others().length, 'field')} changed only by them:{' '}
          {others()
            .map(({ name }) => label(name))
            .join(', ')}
          .
        </p>
        <FieldDiff
          changes={Object.fromEntries(others().map(({ name, base, theirs }) => [name, { old: base, new: theirs }]))}
          labels={props.request.labels ?? {}}
        />
      </Show>
    </Dialog>
  );
}

function ContestedField(props: {
  field: MergeField;
  label: string;
  value: 'mine' | 'theirs';
  onChange: (side: 'mine' | 'theirs') => void;
}) {
  return (
    <section class="stack" data-gap="2">
      <div class="spread">
        <h3>{props.label}</h3>
        <SegmentedControl
          label={`Value to keep for ${props.label}`}
          value={props.value}
          onChange={props.onChange}
          options={[
            { value: 'mine', label: 'Mine' },
            { value: 'theirs', label: 'Theirs' },
          ]}
        />
      </div>
      <FieldDiff
        of={props.field.name}
        changes={{
          mine: { old: props.field.base, new: props.field.mine },
          theirs: { old: props.field.base, new: props.field.theirs },
        }}
        labels={{ mine: 'Before → mine', theirs: 'Before → theirs' }}
      />
    </section>
  );
}
