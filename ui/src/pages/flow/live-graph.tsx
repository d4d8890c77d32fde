import { createMemo, createSignal, For, onCleanup, onMount, Show } from 'solid-js';
import { Icon } from '#ui/src/components/icon.tsx';
import { MiddleCut } from '#ui/src/components/show/breakable.tsx';
import { useMayOpen } from '#ui/src/components/shell/route-context.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { num } from '#ui/src/kernel/numbers.ts';
import { duration } from '#ui/src/kernel/words.ts';
import type { Box, Edge, Picture } from './picture.ts';
import { NONE, type Numbers } from './traffic.ts';
import { clientWord, numbersText, quietText, shortNumbers } from './words.ts';

/** The picture grows with the size of its texts. @param px at the usual size of 16 px. */
const rem = (px: number): string => `${px / 16}rem`;

interface QueueNow {
  readonly active: number;
  readonly waiting: number;
  readonly limit: number;
  readonly longest_wait_ms: number;
}

interface GraphProps {
  picture: Picture;
  /** Of the moment that is shown. */
  numbers: ReadonlyMap<string, Numbers>;
  /** Of the whole hour, for what is quiet now. */
  hour: ReadonlyMap<string, Numbers>;
  seconds: number;
  /** Calls move, when a person allows motion. */
  moves: boolean;
  queues: Readonly<Record<string, QueueNow>>;
  hrefOf: (id: string) => string | undefined;
  onToggle: (id: string) => void;
  onWidth: (width: number) => void;
}

/** A line grows with the logarithm of its calls per minute, so that one call is seen beside a thousand. */
const widthOf = (calls: number, seconds: number): number =>
  calls === 0 ? 1.25 : Math.min(13, 2.5 + 1.7 * Math.log2(1 + (calls * 60) / seconds));
const shareOf = ({ calls, errors }: Numbers): number => (calls === 0 ? 0 : errors / calls);
/** Beyond these, lines do not move: what moves everywhere says nothing. */
const MOST_MOVING = 40;

/** Clients, tools and databases, with what goes on between them. */
export function LiveGraph(props: GraphProps) {
  const { router } = useKernel();
  const mayOpen = useMayOpen();
  const [near, setNear] = createSignal<string>();
  let frame: HTMLDivElement | undefined;
  onMount(() => {
    if (frame === undefined) return;
    const sizes = new ResizeObserver(([entry]) => entry !== undefined && props.onWidth(Math.floor(entry.contentRect.width)));
    sizes.observe(frame);
    onCleanup(() => sizes.disconnect());
  });
  const of = (id: string) => props.numbers.get(id) ?? NONE;
  /** By their ids, so that a box that moves stays the same element. */
  const boxes = createMemo(() => new Map(props.picture.boxes.map((box) => [box.id, box])));
  const ids = createMemo(() => props.picture.boxes.map(({ id }) => id));
  const names = createMemo(() => new Map(props.picture.boxes.map((box) => [box.id, nameOf(box)])));
  const lit = createMemo(() => {
    const id = near();
    if (id === undefined) return undefined;
    const edges = props.picture.edges.filter((edge) => edge.id === id || edge.from === id || edge.to === id);
    return new Set([id, ...edges.flatMap((edge) => [edge.id, edge.from, edge.to])]);
  });
  const faded = (id: string) => (lit() !== undefined && !lit()?.has(id) ? 'true' : undefined);
  const moving = createMemo(() => {
    if (!props.moves) return new Set<string>();
    const busy = props.picture.edges.map(({ id }) => [id, of(id).calls] as const).filter(([, calls]) => calls > 0);
    const first = busy.toSorted(([, a], [, b]) => b - a).slice(0, MOST_MOVING);
    return new Set(first.map(([id]) => id));
  });
  /** A click gives the focus too, and would leave the rest faded behind it. */
  const focus = ({ currentTarget }: FocusEvent & { currentTarget: Element }, id: string) => {
    if (currentTarget.matches(':focus-visible')) setNear(id);
  };
  const open = (id: string, event?: MouseEvent) => {
    const href = props.hrefOf(id);
    if (event?.metaKey || event?.ctrlKey || event?.shiftKey) return;
    event?.preventDefault();
    if (href !== undefined && mayOpen(href)) router.navigate(href);
  };
  const press = (box: Box) => (box.expanded === undefined ? open(box.id) : props.onToggle(box.id));
  const edgeName = (edge: Edge) => `${names().get(edge.from) ?? ''} to ${names().get(edge.to) ?? ''}`;
  const keys = (event: KeyboardEvent) => {
    const id = event.target instanceof Element ? event.target.getAttribute('data-id') : null;
    const to = id === null ? undefined : nextOf(props.picture, id, event.key);
    if (to === undefined) return;
    event.preventDefault();
    const found = [...(frame?.querySelectorAll('[data-id]') ?? [])].find((element) => element.getAttribute('data-id') === to);
    if (found instanceof HTMLElement || found instanceof SVGElement) found.focus();
  };
  return (
    <div
      ref={(element) => (frame = element)}
      class="live-graph"
      role="group"
      aria-label="Live flow"
      aria-description="Tab moves between clients, tools and databases; right and left follow their lines, up and down choose among them. Enter opens the calls."
      onKeyDown={keys}
      onPointerLeave={() => setNear(undefined)}
      onFocusOut={({ target }) => {
        // The pointer may be at another one.
        if (target.getAttribute('data-id') === near()) setNear(undefined);
      }}
    >
      <div class="live-stage" style={{ width: rem(props.picture.width), height: rem(props.picture.height) }}>
        <svg viewBox={`0 0 ${props.picture.width} ${props.picture.height}`}>
          <For each={props.picture.edges}>
            {(edge) => {
              const text = () => `${edgeName(edge)}: ${numbersText(of(edge.id))}`;
              return (
                // The outer element makes it a link of SVG: a template that begins with a link is one of HTML.
                <g>
                  <a
                    class="live-edge"
                    href={props.hrefOf(edge.id)}
                    tabindex="-1"
                    data-id={edge.id}
                    aria-label={text()}
                    data-quiet={of(edge.id).calls === 0 ? 'true' : undefined}
                    data-faded={faded(edge.id)}
                    style={{
                      '--share': Math.min(1, shareOf(of(edge.id)) * 2.5),
                      '--width': widthOf(of(edge.id).calls, props.seconds),
                    }}
                    onClick={(event) => open(edge.id, event)}
                    onPointerEnter={() => setNear(edge.id)}
                    onFocus={(event) => focus(event, edge.id)}
                  >
                    <title>{text()}</title>
                    <path class="live-line" d={edge.path} />
                    <Show when={moving().has(edge.id)}>
                      <path class="live-dots" d={edge.path} data-pace={paceOf(of(edge.id).calls, props.seconds)} />
                    </Show>
                    <path class="live-hit" d={edge.path} />
                  </a>
                </g>
              );
            }}
          </For>
        </svg>
        <For each={ids()}>
          {(id) => (
            <Show when={boxes().get(id)}>
              {(box) => (
                <button
                  type="button"
                  class="live-box"
                  data-id={box().id}
                  data-kind={box().kind}
                  data-quiet={of(box().id).calls === 0 ? 'true' : undefined}
                  data-failed={of(box().id).errors > 0 ? 'true' : undefined}
                  data-faded={faded(box().id)}
                  aria-expanded={box().expanded}
                  style={{ left: rem(box().x), top: rem(box().y), width: rem(box().width), height: rem(box().height) }}
                  onClick={() => press(box())}
                  onPointerEnter={() => setNear(box().id)}
                  onFocus={(event) => focus(event, box().id)}
                >
                  <span class="live-name">
                    <Show
                      when={box().kind === 'client' || box().kind === 'connection'}
                      fallback={
                        <Show when={box().expanded !== undefined}>
                          <Icon name={box().expanded ? 'down' : 'right'} size={13} />
                        </Show>
                      }
                    >
                      <Icon name={box().kind === 'client' ? 'bot' : 'database'} size={14} />
                    </Show>
                    <MiddleCut text={nameOf(box())} />
                    <Show when={box().detail !== ''}>
                      <span class="live-detail">{box().detail}</span>
                    </Show>
                  </span>
                  <span class="live-numbers num">
                    <Show when={of(box().id).calls > 0} fallback={quietText(props.hour.get(box().id), box().definition)}>
                      {shortNumbers(of(box().id))}
                      <Show when={of(box().id).errors > 0}>
                        {' · '}
                        <b>{num(of(box().id).errors)} failed</b>
                      </Show>
                    </Show>
                  </span>
                  <Show when={box().kind === 'connection' && props.queues[box().connection_id ?? '']}>
                    {(queue) => <Slots queue={queue()} />}
                  </Show>
                </button>
              )}
            </Show>
          )}
        </For>
      </div>
    </div>
  );
}

/** How full a queue is; waiting calls in words. */
function Slots(props: { queue: QueueNow }) {
  const text = () =>
    props.queue.waiting > 0
      ? `${props.queue.waiting} waiting, longest ${duration(props.queue.longest_wait_ms)}`
      : `${props.queue.active} of ${props.queue.limit} slots`;
  return (
    <span class="live-slots" data-waiting={props.queue.waiting > 0 ? 'true' : undefined}>
      <span class="live-slots-bar">
        <span style={{ width: `${Math.min(100, (100 * props.queue.active) / Math.max(1, props.queue.limit))}%` }} />
      </span>
      {text()}
    </span>
  );
}

const nameOf = (box: Box): string => (box.kind === 'client' ? clientWord(box.name) : box.name);

const paceOf = (calls: number, seconds: number): number => {
  const rate = (calls * 60) / seconds;
  return rate < 6 ? 1 : rate < 60 ? 2 : 3;
};

/** Where an arrow key goes: from a box along its lines, from a line to its ends or to the next line. */
function nextOf({ boxes, edges }: Picture, id: string, key: string): string | undefined {
  const edge = edges.find((one) => one.id === id);
  const step = key === 'ArrowDown' ? 1 : key === 'ArrowUp' ? -1 : 0;
  if (edge !== undefined) {
    if (key === 'ArrowRight') return edge.to;
    if (key === 'ArrowLeft') return edge.from;
    const beside = edges.filter(({ from }) => from === edge.from);
    return step === 0 ? undefined : beside[beside.indexOf(edge) + step]?.id;
  }
  if (key === 'ArrowRight') return edges.find(({ from }) => from === id)?.id;
  if (key === 'ArrowLeft') return edges.find(({ to }) => to === id)?.id;
  const box = boxes.find((one) => one.id === id);
  const column = (kind: Box['kind'] | undefined) => (kind === 'client' ? 0 : kind === 'connection' ? 2 : 1);
  const same = boxes.filter(({ kind }) => column(kind) === column(box?.kind)).toSorted((a, b) => a.y - b.y);
  return step === 0 || box === undefined ? undefined : same[same.indexOf(box) + step]?.id;
}
