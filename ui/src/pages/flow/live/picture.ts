import type { FlowLayout } from '../flow-graph.ts';
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

/** Something drawn, at its place. */
export interface Box {
  readonly id: string;
  readonly kind: 'client' | 'group' | 'tag' | 'leaf' | 'connection';
  readonly name: string;
  readonly detail: string;
  readonly definition: Definition | undefined;
  readonly connection_id: string | null;
  /** Of what can be expanded. */
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
  /** The box that stands for a definition: itself, or what it is collapsed into. */
  readonly shown_as: ReadonlyMap<string, string>;
  /** The expanded boxes that a definition is in. */
  readonly inside: ReadonlyMap<string, readonly string[]>;
}

/** Below it names could no longer be read: the picture scrolls sideways. */
const LEAST_WIDTH = 680;
/** Between two columns, so that lines are seen. */
const LEAST_BETWEEN = 40;
const CLIENT = { width: 240, height: 52, gap: 10 } as const;
const MIDDLE = { width: 296, height: 52, leaf: 46, gap: 8, pad: 10, between: 20 } as const;
const CONNECTION = { width: 240, height: 76 } as const;
const COLUMNS = CLIENT.width + MIDDLE.width + CONNECTION.width;
const MARGIN = 24;
/** So many definitions are drawn one by one; more of them are collapsed by connection. */
const FEW = 14;
/** Of one connection: more of them are collapsed by tag. */
const FEW_OF_ONE = 12;

export interface Wanted {
  readonly layout: FlowLayout | undefined;
  readonly definitions: ReadonlyMap<string, Definition>;
  readonly pairs: readonly Pair[];
  readonly expanded: ReadonlySet<string>;
  readonly width: number;
}

export function drawPicture({ layout, definitions, pairs, expanded, width: given }: Wanted): Picture {
  const width = Math.max(LEAST_WIDTH, given);
  /** Where they have no room, all boxes give way alike. */
  const share = Math.min(1, (width - 2 * (MARGIN + LEAST_BETWEEN)) / COLUMNS);
  const widthOf = (column: { readonly width: number }): number => Math.floor(column.width * share);
  const used = [...new Set(pairs.map(({ definition }) => definition))]
    .flatMap((key) => definitions.get(key) ?? [])
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const names = new Map(layout?.connections.map(({ id, name, db_type }) => [id, { name, db_type }]));
  const tags = new Map(layout?.tools.map(({ name, tags: [first = ''] }) => [name, first]));
  const by_connection = [...Map.groupBy(used, ({ connection_id }) => connection_id)].toSorted(([a], [b]) =>
    (names.get(a ?? '')?.name ?? '~') < (names.get(b ?? '')?.name ?? '~') ? -1 : 1,
  );
  const [x_middle, x_right] = [(width - widthOf(MIDDLE)) / 2, width - MARGIN - widthOf(CONNECTION)];
  const boxes: Box[] = [];
  const shown_as = new Map<string, string>();
  const inside = new Map<string, readonly string[]>();
  let top = MARGIN;
  for (const [connection_id, own] of by_connection) {
    const start = top;
    const nameless = connection_id === null ? 'No connection' : 'Deleted connection';
    const { name = nameless, db_type = '' } = names.get(connection_id ?? '') ?? {};
    const place = (box: Pick<Box, 'id' | 'kind' | 'name' | 'detail' | 'definition' | 'expanded'>, depth: number) => {
      const height = box.kind === 'leaf' ? MIDDLE.leaf : MIDDLE.height;
      const inset = depth * MIDDLE.pad;
      boxes.push({ ...box, connection_id, x: x_middle + inset, y: top, width: widthOf(MIDDLE) - 2 * inset, height });
      top += height + MIDDLE.gap;
    };
    const leaves = (some: readonly Definition[], depth: number) => {
      for (const definition of some) {
        const key = definitionKey(definition);
        shown_as.set(key, key);
        place({ id: key, kind: 'leaf', name: definition.name, detail: '', definition, expanded: undefined }, depth);
      }
    };
    const collapse = (some: readonly Definition[], id: string) => {
      for (const definition of some) shown_as.set(definitionKey(definition), id);
    };
    const hold = (some: readonly Definition[], ids: readonly string[]) => {
      for (const definition of some) inside.set(definitionKey(definition), ids);
    };
    const group = `group:${connection_id ?? ''}`;
    const by_tag = Map.groupBy(own, (definition) => tags.get(definition.name) ?? '');
    if (used.length <= FEW || own.length === 1) leaves(own, 0);
    else {
      const is_open = expanded.has(group);
      const detail = own.length === 1 ? '1 tool' : `${own.length} tools`;
      place({ id: group, kind: 'group', name, detail, definition: undefined, expanded: is_open }, 0);
      if (is_open) hold(own, [group]);
      if (!is_open) collapse(own, group);
      else if (own.length <= FEW_OF_ONE || by_tag.size < 2) leaves(own, 1);
      else {
        for (const [tag, of] of [...by_tag].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
          const id = `tag:${connection_id ?? ''}:${tag}`;
          const tag_open = expanded.has(id);
          const label = tag === '' ? 'No tag' : tag;
          const count = of.length === 1 ? '1 tool' : `${of.length} tools`;
          place({ id, kind: 'tag', name: label, detail: count, definition: undefined, expanded: tag_open }, 1);
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
  return { ...picture, edges: toEdges(picture, pairs, definitions) };
}

function toEdges(picture: Picture, pairs: readonly Pair[], definitions: ReadonlyMap<string, Definition>): Edge[] {
  const boxes = new Map(picture.boxes.map((box) => [box.id, box]));
  const ends = new Map<string, readonly [Box, Box]>();
  for (const pair of pairs) {
    for (const [from, to] of edgesOf(picture, pair, definitions)) {
      const [a, b] = [boxes.get(from), boxes.get(to)];
      if (a !== undefined && b !== undefined) ends.set(`${from}\n${to}`, [a, b]);
    }
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

/** Edges of a box meet it one below the other, in the order of their other ends. */
function portsOf(edges: readonly { id: string; from: Box; to: Box }[], at: 'from' | 'to', other: 'from' | 'to') {
  const ports = new Map<string, number>();
  for (const own of Map.groupBy(edges, (edge) => edge[at].id).values()) {
    const sorted = own.toSorted((a, b) => a[other].y - b[other].y);
    const step = Math.min(7, ((own[0]?.[at].height ?? 0) - 14) / Math.max(1, own.length));
    for (const [n, { id }] of sorted.entries()) ports.set(id, (n - (own.length - 1) / 2) * step);
  }
  return ports;
}

const round = (value: number): number => Math.round(value * 10) / 10;

function edgesOf(
  { shown_as }: Picture,
  { client, definition }: Pair,
  definitions: ReadonlyMap<string, Definition>,
): (readonly [string, string])[] {
  const middle = shown_as.get(definition);
  if (middle === undefined) return [];
  const connection_id = definitions.get(definition)?.connection_id ?? null;
  const left = [clientKey(client), middle] as const;
  return connection_id === null ? [left] : [left, [middle, connectionKey(connection_id)]];
}

/** The numbers of a moment for everything that is drawn, by the id of the box or edge. */
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
