import { Show } from 'solid-js';
import { LinkButton } from '#ui/src/components/link.tsx';
import { useQuery } from '#ui/src/components/use-query.ts';

/** Leads to the toolsets, which decide which callers see a definition. */
export function AccessLink() {
  const toolsets = useQuery((read) => read('toolsets.list', { limit: 1 }));
  return (
    <Show when={toolsets.data()}>
      {(list) => (
        <LinkButton href="/toolsets" kind="quiet" size="small" icon="user">
          {list().total === 0 ? 'Every caller sees it' : 'Who sees it'}
        </LinkButton>
      )}
    </Show>
  );
}
