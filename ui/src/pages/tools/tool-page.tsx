import { Show } from 'solid-js';
import type { Tool } from '#core/contract/definitions/tools.ts';
import { Badge } from '#ui/src/components/badge.tsx';
import { AccessLink } from '#ui/src/features/builder/definitions/access-link.tsx';
import { TokenBadge } from '#ui/src/features/builder/definitions/token-badge.tsx';
import { StoredEntity } from '#ui/src/features/builder/definitions/stored-entity.tsx';
import { useAct } from '#ui/src/components/use-act.ts';
import { useParams } from '#ui/src/components/shell/route-context.ts';
import { toToolDraft } from '#ui/src/features/builder/drafts.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { ToolBuilder } from './tool-builder.tsx';

/** One stored tool. */
export function ToolPage() {
  const { call, router } = useKernel();
  const { id = '' } = useParams();
  const { act } = useAct();
  const duplicate = async (original: Tool) => {
    const copy = await act(() => call('tools.duplicate', { id: original.id }));
    if (copy !== undefined) router.navigate(`/tools/${copy.id}`);
  };
  return (
    <StoredEntity<Tool>
      noun="tools"
      id={id}
      load={(read, tool_id) => read('tools.get', { id: tool_id })}
      badges={(tool) => (
        <>
          <Show when={!tool.read_only}>
            <Badge tone="warning">Writes</Badge>
          </Show>
          <TokenBadge tokens={tool.tokens} list="tools" />
          <AccessLink />
        </>
      )}
      menu={(tool) => [{ label: 'Duplicate', icon: 'copy', needs: 'tools.duplicate', onSelect: () => void duplicate(tool) }]}
      builder={(parts) => <ToolBuilder {...parts} initial={toToolDraft(parts.entity)} />}
    />
  );
}
