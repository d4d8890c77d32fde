import { For, Show } from 'solid-js';
import { Badge } from '#ui/src/components/badge.tsx';
import { Button } from '#ui/src/components/button.tsx';
import { Dialog } from '#ui/src/components/dialog.tsx';
import { Notice } from '#ui/src/components/notice.tsx';
import { SkeletonList } from '#ui/src/components/skeleton.tsx';
import type { Deployment } from '#ui/src/kernel/deployment.ts';
import { plural } from '#ui/src/kernel/words.ts';

const TONE = { added: 'good', changed: 'water', removed: 'bad' } as const;
const WORD = { connection: 'connection', tool: 'tool', resource: 'resource', prompt: 'prompt', server_config: 'server' } as const;

/** The changes that the next deploy brings, those first that may break a client. */
export function ChangesDialog(props: { deployment: Deployment; open: boolean; onClose: () => void; onDeploy: () => void }) {
  const diff = () => props.deployment.diff.data();
  const changes = () => (diff()?.changes ?? []).toSorted((a, b) => b.breaking.length - a.breaking.length);
  const breaking = () => changes().filter((change) => change.breaking.length > 0).length;

  return (
    <Dialog
      open={props.open}
      title="Changes since the live version"
      onClose={props.onClose}
      foot={
        <>
          <Button autofocus onPress={props.onClose}>
            Not now
          </Button>
          <Button kind={breaking() > 0 ? 'danger' : 'primary'} onPress={props.onDeploy}>
            {breaking() > 0 ? 'Deploy anyway' : 'Deploy'}
          </Button>
        </>
      }
    >
      <Show when={props.deployment.diff.problem()}>{(problem) => <Notice tone="bad">{problem().detail}</Notice>}</Show>
      <Show when={breaking() > 0}>
        <Notice tone="brass" title={`${plural(breaking(), 'change')} may break clients that know the live version`} />
      </Show>
      <Show
        when={diff()}
        fallback={
          <Show when={props.deployment.diff.pending()}>
            <SkeletonList rows={3} label="Reading changes" />
          </Show>
        }
      >
        <ul class="changes">
          <For each={changes()} fallback={<li class="soft">Nothing differs from the live version.</li>}>
            {(change) => (
              <li>
                <div class="entity-head">
                  <span class="entity-name mono">{change.name}</span>
                  <span class="faint small">{WORD[change.entity_type]}</span>
                  <Badge tone={TONE[change.change]}>{change.change}</Badge>
                </div>
                <Show when={change.change === 'changed' && change.fields.length > 0}>
                  <p class="small soft">{change.fields.join(', ')}</p>
                </Show>
                <For each={change.breaking}>{(sentence) => <Notice tone="brass">{sentence}</Notice>}</For>
              </li>
            )}
          </For>
        </ul>
      </Show>
    </Dialog>
  );
}
