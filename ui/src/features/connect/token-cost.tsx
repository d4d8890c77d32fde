import { Show } from 'solid-js';
import { useQuery } from '#ui/src/components/use-query.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { plural } from '#ui/src/kernel/words.ts';

/** What the lists of a toolset, or of everything, cost a model to read, by the working copy. */
export function TokenCost(props: { toolset: string | undefined }) {
  const { serving } = useKernel();
  const later = () => ((serving.data()?.pending_changes ?? 0) > 0 ? 'After the next deploy ' : '');
  const seen = useQuery(
    (read) => read('toolsets.visible', props.toolset === undefined ? { toolsets: null } : { toolsets: [props.toolset] }),
    { watch: () => props.toolset },
  );
  return (
    <Show when={seen.data()}>
      {(found) => (
        <span class="soft num">
          {`${later()}${plural(found().total, 'definition')}, about ${plural(found().tokens, 'token')} in the context of a model.`}
        </span>
      )}
    </Show>
  );
}
