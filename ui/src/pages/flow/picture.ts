import type { Output } from '#core/contract/index.ts';
import {
  clientKey,
  connectionKey,
  type Definition,
  definitionKey,
  type Moment,
  NONE,
  type Numbers,
  type Pair,
  sumOf,
} from './traffic.ts';

export type FlowLayout = Output<'flow.layout'>;

/** A drawn item with its position. */
export interface Box {
  readonly id: string;
  readonly kind: 'client' | 'group' | 'tag' | 'leaf' | 'connection';
  readonly name: string;
  readonly detail: string;
  readonly definition: Definition | undefined;
  readonly connection_id: string | null;
  /** For items that can be expanded. */
  readonly expanded: boolean | undefined;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export interface Edge {
  readonly id: string;
  readonly from: string;
  readonly to: string;
  readonly path: string;
}

export interface Picture {
  readonly boxes: readonly Box[];
  readonly edges: readonly Edge[];
  readonly width: number;
  readonly height: number;
  /** The box of a definition: its box, or the collapsed box that contains it. */
  readonly shown_as: ReadonlyMap<string, string>;
  /** The expanded boxes that contain a definition. */
  readonly inside: ReadonlyMap<string, readonly string[]>;
}

/** Below this width names are unreadable: the picture scrolls sideways. */
const LEAST_WIDTH = 680;
/** Minimum gap between two columns, so that edges are visible. */
const LEAST_BETWEEN = 40;
const CLIENT = { width: 240, height: 52, gap: 10 } as const;
const MIDDLE = { width: 296, height: 52, leaf: 50, gap: 8, pad: 10, between: 20 } as const;
const CONNECTION = { width: 240, height: 76 } as const;
const COLUMNS = CLIENT.width + MIDDLE.width + CONNECTION.width;
const MARGIN = 24;
/** Up to this many definitions are drawn one by one; more are collapsed by connection. */
const FEW = 14;
/** Per connection: more are collapsed by tag. */
const FEW_OF_ONE = 12;

interface Drawn {
  readonly layout: FlowLayout;
  /** The definitions that were called, by their keys. */
  readonly definitions: ReadonlyMap<string, Definition>;
  /** None: every definition of the layout is drawn. */
  readonly pairs: readonly Pair[];
  readonly expanded: ReadonlySet<string>;
  readonly width: number;
}

/** Every definition of the layout by its key, with the address of its page. */
export function definitionsOf({ tools, resources, prompts }: FlowLayout) {
  const entries = (kind: Definition['kind'], path: string, list: FlowLayout['prompts']) =>
    list.map(({ id, name, connection_id }) => {
      const definition = { kind, name, connection_id };
      return [definitionKey(definition), { ...definition, href: `${path}/${id}` }] as const;
    });
  return new Map([
    ...entries('tool', '/tools', tools),
    ...entries('resource', '/resources', resources),
    ...entries('prompt', '/prompts', prompts),
  ]);
}

/** Clients, the definitions that they call, and the connections of those; without calls, all definitions with their connections. */
export function drawPicture({ layout, definitions: called, pairs, expanded, width: given }: Drawn): Picture {
  const width = Math.max(LEAST_WIDTH, given);
  /** Without enough room, all boxes shrink by the same factor. */
  const share = Math.min(1, (width - 2 * (MARGIN + LEAST_BETWEEN)) / COLUMNS);
  const widthOf = (column: { readonly width: number }): number => Math.floor(column.width * share);
  const definitions: ReadonlyMap<string, Definition> = pairs.length > 0 ? called : definitionsOf(layout);
  const keys = pairs.length > 0 ? new Set(pairs.map(({ definition }) => definition)) : definitions.keys();
  const used = [...keys].flatMap((key) => definitions.get(key) ?? []).toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const names = new Map(layout.connections.map(({ id, name, db_type }) => [id, { name, db_type }]));
  const tags = new Map(layout.tools.map(({ name, tags: [first = ''] }) => [name, first]));
  const by_connection = [...Map.groupBy(used, ({ connection_id }) => connection_id)].toSorted(([a], [b]) =>
    (names.get(a ?? '')?.name ?? '~') < (names.get(b ?? '')?.name ?? '~') ? -1 : 1,
  );
  // Without calls there are no clients to the left.
  const x_middle = pairs.length > 0 ? (width - widthOf(MIDDLE)) / 2 : MARGIN;
  const x_right = width - MARGIN - widthOf(CONNECTION);
  const boxes: Box[] = [];
  const shown_as = new Map<string, string>();
  const inside = new Map<string, readonly string[]>();
  let top = MARGIN;
  for (const [connection_id, members] of by_connection) {
    const start = top;
    const nameless = connection_id === null ? 'No connection' : 'Deleted connection';
    const { name = nameless, db_type = '' } = names.get(connection_id ?? '') ?? {};
    const addBox = (box: Pick<Box, 'id' | 'kind' | 'name' | 'detail' | 'definition' | 'expanded'>, depth: number) => {
      const height = box.kind === 'leaf' ? MIDDLE.leaf : MIDDLE.height;
      const inset = depth * MIDDLE.pad;
      boxes.push({ ...box, connection_id, x: x_middle + inset, y: top, width: widthOf(MIDDLE) - 2 * inset, height });
      top += height + MIDDLE.gap;
    };
    const leaves = (some: readonly Definition[], depth: number) => {
      for (const definition of some) {
        const key = definitionKey(definition);
        shown_as.set(key, key);
        addBox({ id: key, kind: 'leaf', name: definition.name, detail: '', definition, expanded: undefined }, depth);
      }
    };
    const collapse = (some: readonly Definition[], id: string) => {
      for (const definition of some) shown_as.set(definitionKey(definition), id);
    };
    const hold = (some: readonly Definition[], ids: readonly string[]) => {
      for (const definition of some) inside.set(definitionKey(definition), ids);
    };
    const group = `group:${connection_id ?? ''}`;
    const by_tag = Map.groupBy(members, (definition) => tags.get(definition.name) ?? '');
    if (used.length <= FEW || members.length === 1) leaves(members, 0);
    else {
      const is_open = expanded.has(group);
      const detail = members.length === 1 ? '1 tool' : `${members.length} tools`;
      addBox({ id: group, kind: 'group', name, detail, definition: undefined, expanded: is_open }, 0);
      if (is_open) hold(members, [group]);
      if (!is_open) collapse(members, group);
      else if (members.length <= FEW_OF_ONE || by_tag.size < 2) leaves(members, 1);
      else {
        for (const [tag, of] of [...by_tag].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
          const id = `tag:${connection_id ?? ''}:${tag}`;
          const tag_open = expanded.has(id);
          const label = tag === '' ? 'No tag' : tag;
          const count = of.length === 1 ? '1 tool' : `${of.length} tools`;
          addBox({ id, kind: 'tag', name: label, detail: count, definition: undefined, expanded: tag_open }, 1);
          if (tag_open) hold(of, [group, id]);
          if (tag_open) leaves(of, 2);
          else collapse(of, id);
        }
      }
    }
    if (connection_id !== null) {
      const tall = Math.max(top - MIDDLE.gap - start, CONNECTION.height);
      top = start + tall + MIDDLE.gap;
      const y = start + (tall - CONNECTION.height) / 2;
      const id = connectionKey(connection_id);
      const of = { kind: 'connection' as const, name, detail: db_type, definition: undefined, expanded: undefined };
      boxes.push({ id, ...of, connection_id, x: x_right, y, width: widthOf(CONNECTION), height: CONNECTION.height });
    }
    top += MIDDLE.between;
  }
  const clients = [...new Set(pairs.map(({ client }) => client))].toSorted((a, b) => a.localeCompare(b));
  const tall = clients.length * (CLIENT.height + CLIENT.gap) - CLIENT.gap;
  const height = Math.max(top - MIDDLE.between - MIDDLE.gap + MARGIN, tall + 2 * MARGIN);
  let y = (height - tall) / 2;
  for (const client of clients) {
    const of = { kind: 'client' as const, name: client, detail: '', definition: undefined, expanded: undefined };
    boxes.push({
      id: clientKey(client),
      ...of,
      connection_id: null,
      x: MARGIN,
      y,
      width: widthOf(CLIENT),
      height: CLIENT.height,
    });
    y += CLIENT.height + CLIENT.gap;
  }
  const picture = { boxes, edges: [], width, height, shown_as, inside };
  const lines =
    pairs.length > 0
      ? pairs.flatMap((pair) => edgesOf(picture, pair, definitions))
      : used.flatMap((definition) => toConnection(picture, definitionKey(definition), definitions));
  return { ...picture, edges: toEdges(picture, lines) };
}

/** The ids of the boxes at both ends. */
type Line = readonly [from: string, to: string];

function toEdges(picture: Picture, lines: readonly Line[]): Edge[] {
  const boxes = new Map(picture.boxes.map((box) => [box.id, box]));
  const ends = new Map<string, readonly [Box, Box]>();
  for (const [from, to] of lines) {
    const [a, b] = [boxes.get(from), boxes.get(to)];
    if (a !== undefined && b !== undefined) ends.set(`${from}\n${to}`, [a, b]);
  }
  const list = [...ends].map(([id, [from, to]]) => ({ id, from, to }));
  const out = portsOf(list, 'from', 'to');
  const into = portsOf(list, 'to', 'from');
  return list.map(({ id, from, to }) => {
    const [x1, y1] = [from.x + from.width, from.y + from.height / 2 + (out.get(id) ?? 0)];
    const [x2, y2] = [to.x, to.y + to.height / 2 + (into.get(id) ?? 0)];
    const bend = Math.max(24, (x2 - x1) / 2);
    const path = `M${round(x1)} ${round(y1)}C${round(x1 + bend)} ${round(y1)} ${round(x2 - bend)} ${round(y2)} ${round(x2)} ${round(y2)}`;
    return { id, from: from.id, to: to.id, path };
  });
}

/** The edges of a box are attached one below the other, in the order of their other ends. */
function portsOf(edges: readonly { id: string; from: Box; to: Box }[], at: 'from' | 'to', other: 'from' | 'to') {
  const ports = new Map<string, number>();
  for (const members of Map.groupBy(edges, (edge) => edge[at].id).values()) {
    const sorted = members.toSorted((a, b) => a[other].y - b[other].y);
    const step = Math.min(7, ((members[0]?.[at].height ?? 0) - 14) / Math.max(1, members.length));
    for (const [n, { id }] of sorted.entries()) ports.set(id, (n - (members.length - 1) / 2) * step);
  }
  return ports;
}

const round = (value: number): number => Math.round(value * 10) / 10;

function edgesOf(picture: Picture, { client, definition }: Pair, definitions: ReadonlyMap<string, Definition>): Line[] {
  const middle = picture.shown_as.get(definition);
  return middle === undefined ? [] : [[clientKey(client), middle], ...toConnection(picture, definition, definitions)];
}

function toConnection({ shown_as }: Picture, definition: string, definitions: ReadonlyMap<string, Definition>): Line[] {
  const middle = shown_as.get(definition);
  const connection_id = definitions.get(definition)?.connection_id ?? null;
  return middle === undefined || connection_id === null ? [] : [[middle, connectionKey(connection_id)]];
}

/** The current numbers of everything drawn, by the id of the box or edge. */
export function numbersOf(
  picture: Picture,
  moment: Pick<Moment, 'pairs' | 'p95'> | undefined,
  definitions: ReadonlyMap<string, Definition>,
): ReadonlyMap<string, Numbers> {
  const numbers = new Map<string, Numbers>();
  const add = (id: string, pair: Pair) => numbers.set(id, sumOf(numbers.get(id) ?? NONE, pair));
  for (const pair of moment?.pairs ?? []) {
    const edges = edgesOf(picture, pair, definitions);
    for (const [from, to] of edges) add(`${from}\n${to}`, pair);
    for (const id of new Set(edges.flat())) add(id, pair);
    for (const id of picture.inside.get(pair.definition) ?? []) add(id, pair);
  }
  for (const [id, p95_ms] of moment?.p95 ?? []) {
    const known = numbers.get(id);
    if (known !== undefined) numbers.set(id, { ...known, p95_ms });
  }
  return numbers;
}
