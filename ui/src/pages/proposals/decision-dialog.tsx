import { createEffect, createSignal, on } from 'solid-js';
import type { Proposal } from '#core/contract/proposals.ts';
import { Button } from '#ui/src/components/button.tsx';
import { Dialog } from '#ui/src/components/dialog.tsx';
import { TextField } from '#ui/src/components/form/field.tsx';
import { Failed } from '#ui/src/components/notice.tsx';
import { createMutation } from '#ui/src/kernel/data/mutation.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { approveTitle } from './words.ts';

/**
 * A key alone decides nothing: the button in here does, and Enter presses it.
 * @param props.version the one that was read; what was added since is not decided on.
 */
export function DecisionDialog(props: {
  proposal: Proposal;
  version: number;
  deciding: 'approve' | 'reject' | undefined;
  onClose: () => void;
  onDone: () => void;
}) {
  const { call, toasts } = useKernel();
  const [comment, setComment] = createSignal('');
  const approves = () => props.deciding === 'approve';
  const decision = createMutation((input: { id: string; version: number; comment?: string }) =>
    call(approves() ? 'proposals.approve' : 'proposals.reject', input),
  );
  createEffect(
    on(
      () => props.deciding,
      () => {
        setComment('');
        decision.reset();
      },
    ),
  );
  const decide = async () => {
    const { id } = props.proposal;
    const text = comment().trim();
    const done = await decision.run({ id, version: props.version, ...(text === '' ? {} : { comment: text }) });
    if (done === undefined) return;
    toasts.show(
      done.status === 'approved' ? 'Approved. The changes are ready to deploy.' : 'Rejected. Nothing was changed.',
      'good',
    );
    props.onDone();
  };

  return (
    <Dialog
      open={props.deciding !== undefined}
      title={approves() ? approveTitle(props.proposal) : `Reject “${props.proposal.title}”?`}
      onClose={props.onClose}
      foot={
        <>
          <Button blocked={decision.busy()} onPress={props.onClose}>
            Cancel
          </Button>
          <Button
            kind={approves() ? 'primary' : 'danger'}
            icon={approves() ? 'check' : 'close'}
            busy={decision.busy()}
            data-autofocus
            onPress={() => void decide()}
          >
            {approves() ? 'Approve' : 'Reject'}
          </Button>
        </>
      }
    >
      <div class="stack">
        <p>
          {approves()
            ? 'All of it is applied to the working copy, or nothing. History names you and the author. Clients see it after the next deploy.'
            : 'Nothing changes. The proposal stays in the list for 90 days.'}
        </p>
        <Failed of={decision} />
        <TextField label="Comment" optional value={comment()} onInput={setComment} />
      </div>
    </Dialog>
  );
}
