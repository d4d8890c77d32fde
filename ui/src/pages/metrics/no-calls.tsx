import { EmptyState } from '#ui/src/components/empty-state.tsx';
import { LinkButton } from '#ui/src/components/link.tsx';

export function NoCalls() {
  return (
    <EmptyState title="No calls in this period" action={<LinkButton href="/playground">Open the playground</LinkButton>}>
      Connect a client, or call a tool in the playground.
    </EmptyState>
  );
}
