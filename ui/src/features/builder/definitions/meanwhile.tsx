import { type JSX, Match, Show, Switch } from 'solid-js';
import { Button } from '#ui/src/components/button.tsx';
import { LinkButton } from '#ui/src/components/link.tsx';
import { Notice } from '#ui/src/components/notice.tsx';
import { useQuery } from '#ui/src/components/use-query.ts';
import type { Recorded } from '#ui/src/kernel/data/last-author.ts';
import type { Query } from '#ui/src/kernel/data/query.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';

/** Others change and delete what a page shows: read again so often. */
export const MEANWHILE_MS = 15_000;

export const isDeleted = (stored: Query<unknown>): boolean =>
  stored.data() !== undefined && stored.problem()?.code === 'not_found';

/**
 * What somebody did to a record while its page was open.
 * @param props.shown the version that the page shows.
 */
export function Meanwhile(props: {
  of: Recorded;
  stored: Query<{ readonly version: number }>;
  shown: number;
  onShow: () => void;
}) {
  return (
    <Switch>
      <Match when={isDeleted(props.stored)}>
        <Told
          of={props.of}
          did="deleted"
          action={
            <LinkButton size="small" href={`/history?type=${props.of.type}&id=${props.of.id}`}>
              Open history
            </LinkButton>
          }
        >
          What you typed is still here. The history can bring the {props.of.type} back.
        </Told>
      </Match>
      <Match when={(props.stored.data()?.version ?? 0) > props.shown}>
        <Told
          of={props.of}
          did="changed"
          action={
            <Button size="small" onPress={() => props.onShow()}>
              Show the saved version
            </Button>
          }
        >
          This page shows the {props.of.type} as it was before.
        </Told>
      </Match>
    </Switch>
  );
}

/** Once the history has said who it was: what this page does itself is over by then. */
function Told(props: { of: Recorded; did: 'changed' | 'deleted'; action: JSX.Element; children: JSX.Element }) {
  const { session } = useKernel();
  const history = useQuery((read) => read('history.list', { entity_type: props.of.type, entity_id: props.of.id, limit: 1 }));
  const title = () => {
    const by = history.data()?.items[0]?.actor.name ?? 'Someone else';
    return by === session.username()
      ? `You ${props.did} this elsewhere in the meantime`
      : `${by} ${props.did} this in the meantime`;
  };
  return (
    <Show when={history.data() ?? history.problem()}>
      <Notice tone="warning" live title={title()} action={props.action}>
        <p>{props.children}</p>
      </Notice>
    </Show>
  );
}
