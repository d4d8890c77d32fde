import { createMemo, Show } from 'solid-js';
import { Button } from '#ui/src/components/button.tsx';
import { Dialog } from '#ui/src/components/dialog.tsx';
import { Failed, Notice } from '#ui/src/components/notice.tsx';
import { SkeletonList } from '#ui/src/components/skeleton.tsx';
import { plural } from '#ui/src/kernel/words.ts';
import { ChangeList } from './change-list.tsx';
import { breakingCount } from './changes.ts';
import { ComingWarnings } from './coming-warnings.tsx';
import type { Deployment } from './deployment.ts';
import { Totals } from './totals.tsx';

/** Nothing goes live by a key or from afar before a person has seen what changes. */
export function DeployDialog(props: { deployment: Deployment; open: boolean; onClose: () => void; onDeploy: () => void }) {
  const diff = () => props.deployment.diff.data();
  const changes = createMemo(() => diff()?.changes ?? []);
  const breaking = () => breakingCount(changes());
  return (
    <Dialog
      open={props.open}
      title={changes().length > 0 ? `Deploy ${plural(changes().length, 'change')}?` : 'Deploy again?'}
      size="wide"
      onClose={props.onClose}
      foot={
        <>
          <Button autofocus onPress={props.onClose}>
            Cancel
          </Button>
          <Button
            kind={breaking() > 0 ? 'danger' : 'primary'}
            icon="rocket"
            blocked={diff() === undefined}
            onPress={() => {
              props.onClose();
              props.onDeploy();
            }}
          >
            {breaking() > 0 ? 'Deploy anyway' : 'Deploy'}
          </Button>
        </>
      }
    >
      <div class="stack">
        <Failed of={props.deployment.diff} />
        <ComingWarnings warnings={diff()?.warnings} />
        <Breaking count={breaking()} />
        <Totals totals={diff()?.totals} />
        <Show
          when={diff()}
          fallback={<SkeletonList rows={3} label="Comparing versions" failed={props.deployment.diff.problem()} />}
        >
          <Show when={changes().length > 0} fallback={<p class="soft">Nothing differs from the deployed version.</p>}>
            <div class="change-box">
              <ChangeList changes={changes()} label="Changes since the deployed version" />
            </div>
          </Show>
        </Show>
      </div>
    </Dialog>
  );
}

export function Breaking(props: { count: number }) {
  return (
    <Show when={props.count > 0}>
      <Notice tone="warning" title={`${plural(props.count, 'change')} may break clients`}>
        <p>Clients that list the tools again are fine. Clients that cache them may send arguments that no longer fit.</p>
      </Notice>
    </Show>
  );
}
