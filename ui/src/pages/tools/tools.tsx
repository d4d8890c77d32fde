import type { Tool } from '#core/contract/definitions/tools.ts';
import { EntityList } from '#ui/src/features/builder/definitions/entity-list.tsx';
import { useAct } from '#ui/src/components/use-act.ts';
import { DriftBadge, useDrift } from '#ui/src/features/checks/drift.tsx';
import { Badge } from '#ui/src/components/badge.tsx';
import { LinkButton } from '#ui/src/components/link.tsx';
import { count } from '#ui/src/kernel/numbers.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';

/** Every tool. */
export function Tools() {
  const { call, router } = useKernel();
  const { act } = useAct();
  const drift = useDrift();
  const duplicate = async ({ id }: Tool) => {
    const copy = await act(() => call('tools.duplicate', { id }));
    if (copy !== undefined) router.navigate(`/tools/${copy.id}`);
  };
  return (
    <EntityList<Tool>
      noun="tools"
      load={(read, filter) => read('tools.list', filter)}
      kinds={[
        { value: 'reads', label: 'Read only', is: ({ read_only }) => read_only },
        { value: 'writes', label: 'Read and write', is: ({ read_only }) => !read_only },
      ]}
      columns={[
        { id: 'connection', head: 'Connection', narrow: 'hide', text: ({ connection_name }) => connection_name },
        { id: 'parameters', head: 'Parameters', narrow: 'wide', num: ({ parameters }) => parameters.length },
        { id: 'tokens', head: 'Tokens', narrow: 'medium', num: ({ tokens }) => tokens, as: count },
      ]}
      badges={({ id, read_only, warnings }) => (
        <>
          {read_only ? null : <Badge tone="warning">Writes</Badge>}
          <DriftBadge drift={drift(id)} />
          {warnings.length === 0 ? null : (
            <Badge tone="warning" title={warnings.join(' ')}>
              Warning
            </Badge>
          )}
        </>
      )}
      menu={(tool) => [{ label: 'Duplicate', icon: 'copy', needs: 'tools.duplicate', onSelect: () => void duplicate(tool) }]}
      empty_action={<LinkButton href="/connections">Choose a table</LinkButton>}
    />
  );
}
