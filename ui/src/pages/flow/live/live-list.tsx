import { For, Show } from 'solid-js';
import { Breakable } from '#ui/src/components/show/breakable.tsx';
import { Button } from '#ui/src/components/button.tsx';
import { Link } from '#ui/src/components/link.tsx';
import { count } from '#ui/src/kernel/numbers.ts';
import { duration, plural } from '#ui/src/kernel/words.ts';
import type { Box, Picture } from './picture.ts';
import { NONE, type Numbers } from './traffic.ts';
import { clientWord, quietText } from './words.ts';

/** The same as rows: clients with what they called, then databases. */
export function LiveList(props: {
  picture: Picture;
  numbers: ReadonlyMap<string, Numbers>;
  hour: ReadonlyMap<string, Numbers>;
  hrefOf: (id: string) => string | undefined;
  onToggle: (id: string) => void;
}) {
  const of = (kinds: readonly Box['kind'][]) => props.picture.boxes.filter(({ kind }) => kinds.includes(kind));
  const edges = (id: string) => props.picture.edges.filter(({ from }) => from === id);
  const box = (id: string) => props.picture.boxes.find((one) => one.id === id);
  const nowOf = (id: string) => props.numbers.get(id) ?? NONE;
  const hourOf = (id: string) => props.hour.get(id) ?? NONE;
  // The arrow never stands alone in a line.
  const name = (own: { name: string; inner?: boolean }) => <Breakable text={own.inner ? `→\u00a0${own.name}` : own.name} />;
  /** Elements of their own: only the texts in them change with the numbers. */
  const Entry = (own: { id: string; name: string; inner?: boolean }) => (
    <>
      <Show when={props.hrefOf(own.id)} fallback={<span class="mono">{name(own)}</span>}>
        {(href) => (
          <Link href={href()} class="mono">
            {name(own)}
          </Link>
        )}
      </Show>
      <Row now={nowOf(own.id)} hour={hourOf(own.id)} />
    </>
  );
  return (
    <div class="live-list">
      <h2>Clients</h2>
      <ul class="flow-rows">
        <For each={of(['client'])}>
          {(client) => (
            <>
              <li>
                <Entry id={client.id} name={clientWord(client.name)} />
              </li>
              <For each={edges(client.id)}>
                {(edge) => (
                  <li class="live-inner">
                    <Entry id={edge.id} name={box(edge.to)?.name ?? ''} inner />
                  </li>
                )}
              </For>
            </>
          )}
        </For>
      </ul>
      <h2>Tools, resources and prompts</h2>
      <ul class="flow-rows">
        <For each={of(['group', 'tag', 'leaf'])}>
          {(one) => (
            <li data-kind={one.kind}>
              <Show when={one.expanded !== undefined} fallback={<Entry id={one.id} name={one.name} />}>
                <Button
                  kind="quiet"
                  size="small"
                  icon={one.expanded ? 'down' : 'right'}
                  aria-expanded={one.expanded}
                  onPress={() => props.onToggle(one.id)}
                >
                  <span class="long-label">
                    <bdi>
                      <Breakable text={one.name} />
                    </bdi>{' '}
                    · {one.detail}
                  </span>
                </Button>
                <Row now={nowOf(one.id)} hour={hourOf(one.id)} />
              </Show>
            </li>
          )}
        </For>
      </ul>
      <h2>Databases</h2>
      <ul class="flow-rows">
        <For each={of(['connection'])}>
          {(one) => (
            <li>
              <Entry id={one.id} name={one.name} />
            </li>
          )}
        </For>
      </ul>
    </div>
  );
}

function Row(props: { now: Numbers; hour: Numbers }) {
  return (
    <span class="flow-calls faint small num">
      <Show when={props.now.calls > 0} fallback={quietText(props.hour)}>
        {plural(props.now.calls, 'call')}
        <Show when={props.now.errors > 0}>
          <span class="flow-errors">, {count(props.now.errors)} failed</span>
        </Show>
        , p95 {duration(props.now.p95_ms)}
      </Show>
    </span>
  );
}
