import { createMemo, createSignal, For, on, createEffect, onCleanup, onMount, Show } from 'solid-js';
import { shorten } from '#core/lib/text/shorten.ts';
import { CHIP, type FlowGroup, type FlowNode, type FlowPicture, related, SERVER_ID } from './flow-graph.ts';
import { centreOn, firstView, fit, shownPart, type View, zoomAt } from './flow-view.ts';
import { IconButton } from '#ui/src/components/button.tsx';
import { FlowMinimap } from './flow-minimap.tsx';
import { FlowShape } from './flow-node.tsx';
import './canvas.css';
import { count, num } from '#ui/src/kernel/numbers.ts';
import { capital, plural } from '#ui/src/kernel/words.ts';

const STEP = 1.25;
const MOVE_PX = 60;
/** A press that moves less is a click. */
const CLICK_PX = 4;
/** From so many nodes on a small map helps. */
const MAP_FROM = 30;
const PINCH = 0.002;
/** Smaller than this, nobody reads a name, and a node is only a box. */
const NAMES_FROM = 0.35;
/** Pixels around what is in sight in which nodes are drawn already. */
const SPARE_PX = 300;

/** The drawing: drag to move, wheel or pinch to zoom, press a node to open it. Only one transform changes while it moves. */
export function FlowCanvas(props: {
  picture: FlowPicture;
  onOpen: (href: string) => void;
  onExpand: (groups: ReadonlySet<string>) => void;
}) {
  const [view, setView] = createSignal<View>({ x: 0, y: 0, scale: 1 });
  const [frame, setFrame] = createSignal({ width: 0, height: 0 });
  const [near, setNear] = createSignal<string>();
  const lit = createMemo(() => {
    const id = near();
    return id === undefined ? undefined : related(props.picture, id);
  });
  let box: HTMLDivElement | undefined;
  /** Whether a person moved it: then it stays where it is when metrics change. */
  let touched = false;
  const all = () => {
    touched = true;
    setView(fit(props.picture, frame()));
  };
  const zoom = (factor: number, at = { x: frame().width / 2, y: frame().height / 2 }) => {
    touched = true;
    setView(zoomAt(view(), factor, at));
  };
  const pan = (x: number, y: number) => {
    touched = true;
    setView({ ...view(), x: view().x + x, y: view().y + y });
  };
  const size = createMemo(() => `${props.picture.width}/${props.picture.height}/${props.picture.nodes.length}`);
  createEffect(on([size, frame], () => (touched ? undefined : setView(firstView(props.picture, frame())))));

  onMount(() => {
    const sizes = new ResizeObserver(([entry]) => {
      if (entry !== undefined) setFrame({ width: entry.contentRect.width, height: entry.contentRect.height });
    });
    const wheel = (event: WheelEvent) => {
      event.preventDefault();
      const { left = 0, top = 0 } = box?.getBoundingClientRect() ?? {};
      zoom(Math.exp(-event.deltaY * (event.ctrlKey ? 5 : 1) * PINCH), { x: event.clientX - left, y: event.clientY - top });
    };
    if (box !== undefined) sizes.observe(box);
    // Solid delegates no wheel events, and only an active listener may keep the page from scrolling.
    box?.addEventListener('wheel', wheel, { passive: false });
    onCleanup(() => {
      sizes.disconnect();
      box?.removeEventListener('wheel', wheel);
    });
  });

  const pointers = new Map<number, { x: number; y: number }>();
  let moved = 0;
  const down = (event: PointerEvent) => {
    if (event.button !== 0) return;
    moved = 0;
    pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
  };
  const drag = (event: PointerEvent) => {
    const before = pointers.get(event.pointerId);
    if (before === undefined) return;
    const now = { x: event.clientX, y: event.clientY };
    const other = [...pointers].find(([id]) => id !== event.pointerId)?.[1];
    pointers.set(event.pointerId, now);
    if (other !== undefined) {
      const { left = 0, top = 0 } = box?.getBoundingClientRect() ?? {};
      const ratio =
        Math.hypot(now.x - other.x, now.y - other.y) / Math.max(1, Math.hypot(before.x - other.x, before.y - other.y));
      zoom(ratio, { x: (now.x + other.x) / 2 - left, y: (now.y + other.y) / 2 - top });
      moved = CLICK_PX + 1;
      return;
    }
    moved += Math.abs(now.x - before.x) + Math.abs(now.y - before.y);
    if (moved <= CLICK_PX) return;
    // From here on the press belongs to the picture, also outside of it.
    box?.setPointerCapture(event.pointerId);
    pan(now.x - before.x, now.y - before.y);
  };
  const up = (event: PointerEvent) => void pointers.delete(event.pointerId);
  const open = (node: FlowNode) => {
    if (moved <= CLICK_PX) props.onOpen(node.href);
  };

  /** Groups that can be collapsed, and those that are not. */
  const large = () => props.picture.groups.filter(({ collapsed, columns }) => collapsed || columns > 1);
  const expanded = () => large().flatMap(({ id, collapsed }) => (collapsed ? [] : [id]));
  const toggle = ({ id, collapsed }: FlowGroup) => {
    if (moved > CLICK_PX || !large().some((group) => group.id === id)) return;
    touched = false;
    props.onExpand(new Set(collapsed ? [...expanded(), id] : expanded().filter((other) => other !== id)));
  };
  const toggleAll = () => {
    touched = false;
    props.onExpand(new Set(expanded().length > 0 ? [] : large().map(({ id }) => id)));
  };

  const keys: Readonly<Record<string, () => void>> = {
    ArrowLeft: () => pan(MOVE_PX, 0),
    ArrowRight: () => pan(-MOVE_PX, 0),
    ArrowUp: () => pan(0, MOVE_PX),
    ArrowDown: () => pan(0, -MOVE_PX),
    '+': () => zoom(STEP),
    '=': () => zoom(STEP),
    '-': () => zoom(1 / STEP),
    '0': all,
  };
  const press = (event: KeyboardEvent) => {
    const run = keys[event.key];
    if (run === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    run();
  };
  const tally = () => {
    const connections = props.picture.nodes.filter(({ kind }) => kind === 'connection').length;
    const entities = props.picture.groups.reduce((sum, group) => sum + group.count, 0);
    return `Graph of ${plural(connections, 'connection')} and ${plural(entities, 'entry', 'entries')}. The list has the same as links.`;
  };
  /** The nodes in sight: a picture of a thousand moves as easily as one of ten. */
  const seen = createMemo(() => {
    const { x, y, width, height } = shownPart(view(), frame());
    const spare = SPARE_PX / view().scale;
    return props.picture.nodes.filter(
      (node) =>
        node.x + node.width > x - spare &&
        node.x < x + width + spare &&
        node.y + node.height > y - spare &&
        node.y < y + height + spare,
    );
  });
  const tiny = createMemo(() => view().scale < NAMES_FROM);
  const busiest = createMemo(() => Math.max(1, ...props.picture.edges.map(({ calls }) => calls)));
  const faded = (ids: readonly string[]) => {
    const some = lit();
    return some !== undefined && !ids.some((id) => some.has(id) && id !== SERVER_ID);
  };

  return (
    <div
      ref={(element) => (box = element)}
      class="flow-canvas"
      role="group"
      tabindex="0"
      aria-label={tally()}
      aria-description="Arrow keys pan, plus and minus zoom, 0 fits everything into view."
      onKeyDown={press}
      onPointerDown={down}
      onPointerMove={drag}
      onPointerUp={up}
      onPointerCancel={up}
    >
      <svg width="100%" height="100%" aria-hidden="true">
        <g transform={`translate(${view().x} ${view().y}) scale(${view().scale})`}>
          <For each={props.picture.edges}>
            {(edge) => (
              <g
                class="flow-edge"
                data-used={edge.calls > 0 ? 'true' : undefined}
                data-faded={faded(edge.of) ? 'true' : undefined}
              >
                <path d={edge.path} stroke-width={1 + 5 * Math.sqrt(edge.calls / busiest())} />
                <Show when={edge.calls > 0 && edge.of.length > 1}>
                  <text x={edge.middle.x} y={edge.middle.y - 6}>
                    {count(edge.calls)}
                  </text>
                </Show>
              </g>
            )}
          </For>
          <For each={props.picture.groups}>
            {(group) => (
              <g
                class="flow-group"
                data-many={group.collapsed || group.columns > 1 ? 'true' : undefined}
                data-collapsed={group.collapsed ? 'true' : undefined}
                data-faded={group.collapsed && faded([group.id]) ? 'true' : undefined}
                onClick={() => toggle(group)}
              >
                <rect x={group.x} y={group.y} width={group.width} height={group.height} rx="10" />
                <text x={group.x + 14} y={group.y + (group.collapsed ? 27 : 16)}>
                  {group.collapsed || group.columns > 1 ? (group.collapsed ? '+ ' : '− ') : ''}
                  {`${capital(group.kind)}s · ${num(group.count)}`}
                </text>
              </g>
            )}
          </For>
          <For each={seen()}>
            {(node) => (
              <FlowShape
                node={node}
                name={shorten(node.name, node.calls > 0 || node.height > CHIP.height ? 20 : 24)}
                faded={lit() !== undefined && !lit()?.has(node.id)}
                tiny={tiny()}
                onNear={setNear}
                onOpen={open}
              />
            )}
          </For>
        </g>
      </svg>
      <div class="flow-tools" onPointerDown={(event) => event.stopPropagation()}>
        <IconButton icon="plus" label="Zoom in" onPress={() => zoom(STEP)} />
        <IconButton icon="minus" label="Zoom out" onPress={() => zoom(1 / STEP)} />
        <IconButton icon="fit" label="Fit to view" onPress={all} />
        <Show when={large().length > 0}>
          <IconButton
            icon={expanded().length > 0 ? 'up' : 'down'}
            label={expanded().length > 0 ? 'Collapse all groups' : 'Expand all groups'}
            onPress={toggleAll}
          />
        </Show>
      </div>
      <Show when={props.picture.nodes.length > MAP_FROM}>
        <FlowMinimap
          picture={props.picture}
          view={view()}
          frame={frame()}
          label="Overview map"
          onCentre={(point) => {
            touched = true;
            setView(centreOn(view(), frame(), point));
          }}
        />
      </Show>
    </div>
  );
}
