import { createEffect, createSignal, on, Show } from 'solid-js';
import type { Proposal } from '#core/contract/proposals.ts';
import { Button } from '#ui/src/components/button.tsx';
import { Dialog } from '#ui/src/components/dialog.tsx';
import { Checkbox } from '#ui/src/components/form/choice.tsx';
import { TextField } from '#ui/src/components/form/field.tsx';
import { Failed, Notice } from '#ui/src/components/notice.tsx';
import { createMutation } from '#ui/src/kernel/data/mutation.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { fieldError } from '#ui/src/kernel/problem.ts';
import { approveTitle } from './words.ts';

/**
 * A shortcut only opens this dialog; the button decides, and Enter presses it.
 * @param props.version the reviewed version; later additions are not decided on.
 * @param props.obstacle why it cannot be decided now.
 */
export function DecisionDialog(props: {
  proposal: Proposal;
  version: number;
  /** Positions of the operations to apply; absent: all. */
  positions?: readonly number[] | undefined;
  deciding: 'approve' | 'reject' | undefined;
  obstacle: string | undefined;
  onClose: () => void;
  onDone: () => void;
  onRefused: () => void;
}) {
  const { call, toasts } = useKernel();
  const [comment, setComment] = createSignal('');
  const [all, setAll] = createSignal(false);
  const approves = () => props.deciding === 'approve';
  const decision = createMutation((input: { id: string; version: number; comment?: string }) =>
    approves()
      ? call('proposals.approve', { ...input, ...(props.positions && { positions: [...props.positions] }) })
      : call('proposals.reject', { ...input, all_of_author: all() }),
  );
  /** Closing on an outdated proposal preserves the comment for the next opening. */
  let remaining = false;
  createEffect(
    on(
      () => props.deciding,
      () => {
        if (!remaining) setComment('');
        setAll(false);
        decision.reset();
      },
    ),
  );
  const cancel = () => {
    remaining = props.obstacle !== undefined;
    props.onClose();
  };
  const at_comment = () => fieldError(decision.problem(), 'comment');
  const decide = async () => {
    const { id } = props.proposal;
    const text = comment().trim();
    const done = await decision.run({ id, version: props.version, ...(text === '' ? {} : { comment: text }) });
    if (done === undefined) {
      props.onRefused();
      return;
    }
    remaining = false;
    toasts.show(
      done.status === 'approved' ? 'Approved. The changes are ready to deploy.' : 'Rejected. Nothing was changed.',
      'good',
    );
    props.onDone();
  };

  return (
    <Dialog
      open={props.deciding !== undefined}
      title={approves() ? approveTitle(props.proposal, props.positions?.length) : `Reject “${props.proposal.title}”?`}
      onClose={props.onClose}
      foot={
        <>
          <Button blocked={decision.busy()} onPress={cancel}>
            Cancel
          </Button>
          <Button
            kind={approves() ? 'primary' : 'danger'}
            icon={approves() ? 'check' : 'close'}
            busy={decision.busy()}
            blocked={props.obstacle !== undefined}
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
          <Show when={approves() && props.positions !== undefined}>
            {'The other changes are left out for good; the author sees which. '}
          </Show>
          {approves()
            ? 'The changes are applied to the working copy all together or not at all. The history names you and the author. Clients see the changes after the next deploy.'
            : 'Nothing changes. The proposal stays in the list for 90 days.'}
        </p>
        <Show
          when={props.obstacle}
          fallback={<Failed of={{ problem: () => (at_comment() === undefined ? decision.problem() : undefined) }} />}
        >
          {(sentence) => (
            <Notice tone="warning" live>
              <p>{sentence()}</p>
            </Notice>
          )}
        </Show>
        <Show when={!approves()}>
          <Checkbox label={`Reject all open proposals of ${props.proposal.author.name}`} checked={all()} onChange={setAll} />
        </Show>
        <TextField label="Comment" optional value={comment()} onInput={setComment} error={at_comment()} />
      </div>
    </Dialog>
  );
}
