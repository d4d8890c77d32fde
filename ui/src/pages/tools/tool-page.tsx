import { Show } from 'solid-js';
import type { Tool } from '#core/contract/definitions/tools.ts';
import { Badge } from '#ui/src/components/badge.tsx';
import { StoredEntity } from '#ui/src/features/builder/definitions/stored-entity.tsx';
import { useEntityActions } from '#ui/src/features/builder/definitions/use-entity-actions.ts';
import { useParams } from '#ui/src/components/shell/route-context.ts';
import { toToolDraft } from '#ui/src/features/builder/drafts.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { ToolBuilder } from './tool-builder.tsx';
import { count } from '#ui/src/kernel/words.ts';
import { TOOL_WORDS as WORDS } from './words.ts';

/** One stored tool. */
export function ToolPage() {
  const { call, router } = useKernel();
  const { id = '' } = useParams();
  const actions = useEntityActions('tools', { words: WORDS, onChange: () => undefined });
  const duplicate = async (original: Tool) => {
    const copy = await actions.attempt(() => call('tools.duplicate', { id: original.id }));
    if (copy !== undefined) router.navigate(`/tools/${copy.id}`);
  };
  return (
    <StoredEntity<Tool>
      noun="tools"
      id={id}
      icon="tool"
      words={WORDS}
      load={(read, wanted) => read('tools.get', { id: wanted })}
      badges={(tool) => (
        <>
          <Show when={!tool.read_only}>
            <Badge tone="brass">{WORDS.writes}</Badge>
          </Show>
          <Badge title={WORDS.tokens_hint}>{WORDS.tokens(count(tool.tokens))}</Badge>
        </>
      )}
      menu={(tool) => [{ label: WORDS.duplicate, icon: 'copy', needs: 'tools.duplicate', onSelect: () => void duplicate(tool) }]}
      builder={(parts) => (
        <ToolBuilder
          connections={parts.connections}
          tags={parts.tags}
          tool={parts.entity}
          initial={toToolDraft(parts.entity)}
          onSaved={parts.onSaved}
        />
      )}
    />
  );
}
