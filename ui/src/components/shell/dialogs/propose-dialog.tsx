import { createSignal } from 'solid-js';
import { Button } from '#ui/src/components/button.tsx';
import { Dialog } from '#ui/src/components/dialog.tsx';
import { TextField } from '#ui/src/components/form/field.tsx';
import { Bullets } from '#ui/src/components/show/bullets.tsx';

/** Proposes a change that needs a second person. @param dangers what it does, one sentence each. */
export function ProposeDialog(props: { dangers: readonly string[]; onAnswer: (note: string | null) => void }) {
  const [note, setNote] = createSignal('');
  return (
    <Dialog
      open
      alert
      size="small"
      title="Propose this change?"
      lead="It lowers the protection of this server, so another administrator has to approve it."
      onClose={() => props.onAnswer(null)}
    >
      <form
        class="stack"
        novalidate
        onSubmit={(event) => {
          event.preventDefault();
          props.onAnswer(note().trim());
        }}
      >
        <Bullets small of={props.dangers} />
        <TextField label="Reason" optional autofocus value={note()} onInput={setNote} hint="The other person reads it first." />
        <div class="row">
          <Button onPress={() => props.onAnswer(null)}>Cancel</Button>
          <Button type="submit" kind="primary">
            Propose
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
