import { createEffect, createSignal, Match, on, Show, Switch } from 'solid-js';
import type { Output } from '#core/contract/index.ts';
import { Button } from '#ui/src/components/button.tsx';
import { Dialog } from '#ui/src/components/dialog.tsx';
import { FieldDiff } from '#ui/src/components/field-diff.tsx';
import { ProblemNotice } from '#ui/src/components/notice.tsx';
import { SkeletonList } from '#ui/src/components/skeleton.tsx';
import { FIELD_LABELS } from '#ui/src/kernel/deploy-changes.ts';
import type { Deed } from '#ui/src/kernel/history-log.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { createMutation } from '#ui/src/kernel/mutation.ts';
import { toProblem } from '#ui/src/kernel/problem.ts';
import { WORDS } from './words.ts';

/** What a rollback would change, worked out by the server without doing it; then it is done. */
export function RollbackDialog(props: { deed: Deed | undefined; onClose: () => void; onDone: () => void }) {
  const { call, toasts } = useKernel();
  const [preview, setPreview] = createSignal<Output<'history.rollback'>>();
  const rehearse = createMutation((history_id: string) => call('history.rollback', { history_id, dry_run: true }));
  const restore = createMutation((history_id: string) => call('history.rollback', { history_id }));

  createEffect(
    on(
      () => props.deed?.main.id,
      async (id) => {
        setPreview(undefined);
        rehearse.reset();
        restore.reset();
        if (id !== undefined) setPreview(await rehearse.run(id));
      },
    ),
  );
  const redo = async (history_id: string) => {
    try {
      await call('history.rollback', { history_id });
      toasts.show(WORDS.redone, 'good');
      props.onDone();
    } catch (fault) {
      toasts.show(toProblem(fault).detail, 'bad');
    }
  };
  const run = async () => {
    const deed = props.deed;
    if (deed === undefined) return;
    const answer = await restore.run(deed.main.id);
    if (answer === undefined) return;
    toasts.show(WORDS.undone(deed.main.entity_name), 'good', {
      action: { label: WORDS.redo, run: () => void redo(answer.entry.id) },
    });
    props.onDone();
  };

  return (
    <Dialog
      open={props.deed !== undefined}
      title={WORDS.undo_title(props.deed?.main.entity_name ?? '')}
      lead={WORDS.undo_lead}
      size="wide"
      onClose={props.onClose}
      foot={
        <>
          <Button autofocus onPress={props.onClose}>
            {WORDS.undo_keep}
          </Button>
          <Button kind="primary" busy={restore.busy()} blocked={preview() === undefined} onPress={() => void run()}>
            {WORDS.undo_action}
          </Button>
        </>
      }
    >
      <div class="stack">
        <Show when={restore.problem()}>{(problem) => <ProblemNotice problem={problem()} />}</Show>
        <Switch>
          <Match when={rehearse.problem()}>{(problem) => <ProblemNotice problem={problem()} />}</Match>
          <Match when={preview()}>
            {(answer) => (
              <>
                <Show when={answer().entity === null}>
                  <p>{WORDS.undo_gone}</p>
                </Show>
                <Show when={props.deed?.others.length}>{(count) => <p class="soft">{WORDS.undo_batch(count())}</p>}</Show>
                <FieldDiff changes={answer().entry.changes} labels={FIELD_LABELS} />
              </>
            )}
          </Match>
          <Match when={rehearse.busy()}>
            <SkeletonList rows={3} label={WORDS.previewing} />
          </Match>
        </Switch>
      </div>
    </Dialog>
  );
}
