import { Button } from '#ui/src/components/button.tsx';
import { Dialog } from '#ui/src/components/dialog.tsx';
import type { Asked } from './state.ts';

/** What a tool asks before it writes, in the server's own words. */
export function QuestionDialog(props: { question: Asked | undefined }) {
  return (
    <Dialog
      open={props.question !== undefined}
      title="Confirm this change"
      alert
      size="small"
      onClose={() => props.question?.answer(null)}
      foot={
        <>
          <Button autofocus onPress={() => props.question?.answer(false)}>
            Decline
          </Button>
          <Button kind="primary" onPress={() => props.question?.answer(true)}>
            {props.question?.yes ?? 'Confirm'}
          </Button>
        </>
      }
    >
      <p>{props.question?.message}</p>
    </Dialog>
  );
}
