import { For, Show } from 'solid-js';
import { Breakable } from '#ui/src/components/show/breakable.tsx';
import { Button } from '#ui/src/components/button.tsx';
import { Link } from '#ui/src/components/link.tsx';
import { count } from '#ui/src/kernel/numbers.ts';
import { duration, plural } from '#ui/src/kernel/words.ts';
import type { Box, Picture } from './picture.ts';
import { type Definition, NONE, type Numbers } from './traffic.ts';
import { clientWord, quietText } from './words.ts';

/** The same data as rows: clients with the definitions they called, then databases. */
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
  // A non-breaking space, so that the arrow is never alone on a line.
  const name = (entry: { name: string; inner?: boolean }) => (
    <Breakable text={entry.inner ? `→\u00a0${entry.name}` : entry.name} />
  );
  /** The elements stay mounted: only their texts change with the numbers. */
  const Entry = (entry: { id: string; name: string; inner?: boolean }) => (
    <>
      <Show when={props.hrefOf(entry.id)} fallback={<span class="mono">{name(entry)}</span>}>
        {(href) => (
          <Link href={href()} class="mono">
            {name(entry)}
          </Link>
        )}
      </Show>
      <Row now={nowOf(entry.id)} hour={props.hour.get(entry.id)} definition={box(entry.id)?.definition} />
    </>
  );
  return (
    <div class="live-list">
      <Show when={of(['client']).length > 0}>
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
      </Show>
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
                <Row now={nowOf(one.id)} hour={props.hour.get(one.id)} definition={undefined} />
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

function Row(props: { now: Numbers; hour: Numbers | undefined; definition: Definition | undefined }) {
  return (
    <span class="flow-calls faint small num">
      <Show when={props.now.calls > 0} fallback={quietText(props.hour, props.definition)}>
        {plural(props.now.calls, 'call')}
        <Show when={props.now.errors > 0}>
          <span class="flow-errors">, {count(props.now.errors)} failed</span>
        </Show>
        , p95 {duration(props.now.p95_ms)}
      </Show>
    </span>
  );
}
