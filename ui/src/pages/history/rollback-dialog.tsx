import { plural } from '#ui/src/kernel/words.ts';
import { createEffect, createMemo, Match, on, Show, Switch } from 'solid-js';
import type { HistoryEntry } from '#core/contract/history.ts';
import { Button } from '#ui/src/components/button.tsx';
import { Dialog } from '#ui/src/components/dialog.tsx';
import { Bullets } from '#ui/src/components/show/bullets.tsx';
import { FieldDiff } from '#ui/src/components/show/field-diff.tsx';
import { Failed, Notice, ProblemNotice } from '#ui/src/components/notice.tsx';
import { WorkProgress } from '#ui/src/components/show/work-progress.tsx';
import { SkeletonList } from '#ui/src/components/skeleton.tsx';
import { goesAlong, type HistoryAction } from './history-log.ts';
import { useAct } from '#ui/src/components/use-act.ts';
import { useRetry } from '#ui/src/components/use-query.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { createProgress } from '#ui/src/kernel/data/progress.ts';
import { createMutation } from '#ui/src/kernel/data/mutation.ts';
import { createQuery } from '#ui/src/kernel/data/query.ts';

const DRY_RUN_GATES = { check: 'Checking', write: 'Comparing with what is stored' };
const ROLLED_BACK = { check: 'Checking', write: 'Rolling back' };

/** Previews a rollback by a dry run on the server, then runs it. */
export function RollbackDialog(props: { action: HistoryAction | undefined; onClose: () => void; onDone: () => void }) {
  const { call, toasts } = useKernel();
  const { act } = useAct();
  const [checking, changing] = [createProgress(call), createProgress(call)];
  /** Each entry has a separate preview, so the answer for another entry is never shown. */
  const preview = createMemo(() => {
    const history_id = props.action?.main.id;
    if (history_id === undefined) return undefined;
    const query = useRetry(createQuery((signal) => checking.call('history.rollback', { history_id, dry_run: true }, signal)));
    void query.reload();
    return query;
  });
  const restore = createMutation((history_id: string) => changing.call('history.rollback', { history_id }));
  createEffect(on(preview, () => restore.reset()));
  const redo = async ({ id, version_after }: HistoryEntry) => {
    // Limited to the version that the rollback created, so later changes are not undone.
    const input = { history_id: id, ...(version_after === null ? {} : { version: version_after }) };
    const answer = await act(() => call('history.rollback', input), 'Rollback undone.');
    if (answer !== undefined) props.onDone();
  };
  const run = async () => {
    const action = props.action;
    if (action === undefined) return;
    const answer = await restore.run(action.main.id);
    if (answer === undefined) return;
    toasts.show(`Restored “${action.main.entity_name}”. Deploy to make it live.`, 'good', {
      action: { label: 'Undo', run: () => void redo(answer.entry) },
    });
    props.onDone();
  };

  return (
    <Dialog
      open={props.action !== undefined}
      title={`Restore the previous state of “${props.action?.main.entity_name ?? ''}”?`}
      lead="The rollback is recorded in the history, so you can undo it."
      size="wide"
      onClose={props.onClose}
      foot={
        <>
          <Button autofocus blocked={restore.busy()} onPress={props.onClose}>
            Cancel
          </Button>
          <Button kind="primary" busy={restore.busy()} blocked={preview()?.data() === undefined} onPress={() => void run()}>
            Roll back
          </Button>
        </>
      }
    >
      <div class="stack">
        <Failed of={restore} />
        <WorkProgress of={changing.progress()} steps={ROLLED_BACK} />
        <Switch>
          <Match when={preview()?.pending()}>
            <WorkProgress of={checking.progress()} steps={DRY_RUN_GATES} />
            <SkeletonList rows={3} label="Comparing" />
          </Match>
          <Match when={preview()?.problem()}>
            {(problem) => <ProblemNotice problem={problem()} onRetry={() => void preview()?.reload()} />}
          </Match>
          <Match when={preview()?.data()}>
            {(answer) => (
              <div class="stack" role="group" aria-label="What the rollback changes" tabindex="0">
                <Show when={answer().entity === null}>
                  <p>The record did not exist before this change, so the rollback deletes it.</p>
                </Show>
                <Show when={answer().total - 1 - goesAlong(answer().cascaded).length || undefined}>
                  {(count) => <p class="soft">{`Also rolls back ${plural(count(), 'other record')} of the same change.`}</p>}
                </Show>
                <Show when={goesAlong(answer().cascaded).length > 0}>
                  <Notice tone="warning" title="This will be deleted too:">
                    <Bullets small of={goesAlong(answer().cascaded)} />
                  </Notice>
                </Show>
                <FieldDiff changes={answer().entry.changes} entity_type={answer().entry.entity_type} />
              </div>
            )}
          </Match>
        </Switch>
      </div>
    </Dialog>
  );
}
