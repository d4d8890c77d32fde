import { isFound } from '#core/lib/text/search.ts';
import type { Output } from '#core/contract/index.ts';
import { keyOf, type Kind, type Stats, type Usage } from '#ui/src/kernel/metrics.ts';

export type FlowLayout = Output<'flow.layout'>;
type Memberships = Output<'flow.toolsets'>['items'];

/** Something that is configured, at its place. */
export interface FlowNode {
  readonly id: string;
  readonly kind: 'connection' | Kind | 'server';
  readonly name: string;
  /** What stands below or beside the name: the type of a database, a URI. */
  readonly detail: string;
  readonly enabled: boolean;
  /** A tool that may change data. */
  readonly writes: boolean;
  readonly connection_id: string | null;
  /** Names of the toolsets that hold it. */
  readonly toolsets: readonly string[];
  readonly calls: number;
  readonly errors: number;
  readonly href: string;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** What belongs to one connection and is of one kind: in columns, or as one box while it is collapsed. */
export interface FlowGroup {
  readonly id: string;
  readonly collapsed: boolean;
  readonly kind: Kind;
  readonly connection_id: string | null;
  readonly columns: number;
  readonly count: number;
  readonly calls: number;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

interface FlowEdge {
  readonly id: string;
  readonly from: string;
  readonly to: string;
  readonly calls: number;
  readonly path: string;
  /** Where the number of calls stands. */
  readonly middle: { readonly x: number; readonly y: number };
  /** Edges of all that is in a group stand for its nodes. */
  readonly of: readonly string[];
}

export interface FlowPicture {
  readonly nodes: readonly FlowNode[];
  readonly groups: readonly FlowGroup[];
  readonly edges: readonly FlowEdge[];
  readonly width: number;
  readonly height: number;
}

interface FlowFilter {
  readonly search: string;
  readonly kinds: readonly Kind[];
  readonly connection_id: string | undefined;
  /** Name of the one toolset that is shown. */
  readonly toolset: string | undefined;
  /** The large groups that are not collapsed. */
  readonly expanded: ReadonlySet<string> | 'all';
}

export const CHIP = { width: 220, height: 36, gap: 8 } as const;
const BOX = { width: 220, height: 56 } as const;
const PAD = 12;
const HEAD = 24;
/** Larger groups begin collapsed; expanded, they stand in several columns, and one line stands for all of their own. */
const ONE_COLUMN = 12;
const COLLAPSED_HEIGHT = 44;
const GAP = 20;
/** Between two columns of the picture, for the edges. */
const BETWEEN = 96;
const MARGIN = 24;
export const SERVER_ID = 'server';

interface Placed {
  readonly group: Omit<FlowGroup, 'x' | 'y'>;
  readonly members: readonly Omit<FlowNode, 'x' | 'y'>[];
}

/** The whole configuration, or what the filter leaves of it, in three columns: connections, what they own, the server. */
export function drawFlow(
  layout: FlowLayout,
  stats: Stats | undefined,
  filter: FlowFilter,
  memberships: Memberships = [],
): FlowPicture {
  const entities = toEntities(layout, stats, memberships).filter((node) => passes(node, filter));
  const placed = toGroups(entities, filter);
  const connections = layout.connections
    .filter(({ id }) => filter.connection_id === undefined || id === filter.connection_id)
    .filter(
      ({ id, name }) =>
        entities.some(({ connection_id }) => connection_id === id) ||
        (filter.toolset === undefined && isFound(filter.search, name)),
    )
    .map(({ id, name, db_type, enabled }) => {
      const mine = entities.filter(({ connection_id }) => connection_id === id);
      return { ...box('connection', id, name, db_type, enabled, `/connections/${id}`), ...sumOf(mine) };
    });
  const { server_name, snapshot_version, status } = layout.server;
  const version = snapshot_version === null ? '' : `v${snapshot_version}`;
  const server = { ...box('server', SERVER_ID, server_name, version, status === 'running', '/deploy'), ...sumOf(entities) };

  const middle = MARGIN + (connections.length === 0 ? 0 : BOX.width + BETWEEN);
  const right = middle + (placed.length === 0 ? 0 : Math.max(...placed.map(({ group }) => group.width)) + BETWEEN);
  const nodes: FlowNode[] = [];
  const groups: FlowGroup[] = [];
  let top = MARGIN;
  for (const connection of [...connections, undefined]) {
    const mine = inOrder(placed.filter(({ group }) => group.connection_id === (connection?.id ?? null)));
    const tall = mine.reduce((sum, { group }) => sum + group.height + GAP, -GAP);
    const height = Math.max(tall, connection?.height ?? 0);
    if (connection !== undefined) nodes.push({ ...connection, x: MARGIN, y: Math.round(top + (height - connection.height) / 2) });
    let y = Math.round(top + (height - tall) / 2);
    for (const { group, members } of mine) {
      const at = { ...group, x: middle, y };
      groups.push(at);
      nodes.push(...chipsOf(at, members));
      y += group.height + GAP;
    }
    if (height > 0) top += height + GAP;
  }
  nodes.push({ ...server, x: right, y: Math.max(MARGIN, Math.round((MARGIN + top - GAP - server.height) / 2)) });
  return { nodes, groups, edges: toEdges(nodes, groups), ...sizeOf([...nodes, ...groups]) };
}

const ORDER: readonly Kind[] = ['tool', 'resource', 'prompt'];
const inOrder = (placed: readonly Placed[]): Placed[] =>
  placed.toSorted((a, b) => ORDER.indexOf(a.group.kind) - ORDER.indexOf(b.group.kind));

function toEntities(layout: FlowLayout, stats: Stats | undefined, memberships: Memberships): Omit<FlowNode, 'x' | 'y'>[] {
  const used: Readonly<Record<string, Usage>> = {
    ...named('tool', stats?.tools),
    ...named('resource', stats?.resources),
    ...named('prompt', stats?.prompts),
  };
  const holders = new Map<string, string[]>();
  for (const { name, members } of memberships) {
    for (const id of members) holders.set(id, [...(holders.get(id) ?? []), name]);
  }
  const entity = (kind: Kind, path: string, node: FlowLayout['prompts'][number], detail: string, writes: boolean) => {
    const { calls = 0, errors = 0 } = used[keyOf(kind, node.name)] ?? {};
    const { id, name, enabled, connection_id } = node;
    const toolsets = holders.get(id) ?? [];
    return {
      id,
      kind,
      name,
      detail,
      enabled,
      writes,
      connection_id,
      toolsets,
      calls,
      errors,
      href: `${path}/${id}`,
      ...CHIP_SIZE,
    };
  };
  return [
    ...layout.tools.map((tool) => entity('tool', '/tools', tool, tool.tags.join(', '), !tool.read_only)),
    ...layout.resources.map((resource) => entity('resource', '/resources', resource, resource.uri_template, false)),
    ...layout.prompts.map((prompt) => entity('prompt', '/prompts', prompt, prompt.tags.join(', '), false)),
  ];
}

const CHIP_SIZE = { width: CHIP.width, height: CHIP.height };
const named = (kind: Kind, usages: Readonly<Record<string, Usage>> = {}): Record<string, Usage> =>
  Object.fromEntries(Object.entries(usages).map(([name, usage]) => [keyOf(kind, name), usage]));

const passes = ({ kind, name, detail, connection_id, toolsets }: Omit<FlowNode, 'x' | 'y'>, filter: FlowFilter): boolean =>
  filter.kinds.some((wanted) => wanted === kind) &&
  (filter.connection_id === undefined || connection_id === filter.connection_id) &&
  (filter.toolset === undefined || toolsets.includes(filter.toolset)) &&
  isFound(filter.search, name, detail);

const box = (kind: 'connection' | 'server', id: string, name: string, detail: string, enabled: boolean, href: string) => ({
  id,
  kind,
  name,
  detail,
  enabled,
  href,
  writes: false,
  connection_id: null,
  toolsets: [],
  ...BOX,
});

const sumOf = (nodes: readonly { readonly calls: number; readonly errors: number }[]) => ({
  calls: nodes.reduce((sum, { calls }) => sum + calls, 0),
  errors: nodes.reduce((sum, { errors }) => sum + errors, 0),
});

function toGroups(entities: readonly Omit<FlowNode, 'x' | 'y'>[], { search, expanded }: FlowFilter): Placed[] {
  const by_group = Map.groupBy(entities, ({ kind, connection_id }) => `group:${connection_id ?? ''}:${kind}`);
  return [...by_group].flatMap(([id, members]) => {
    const [first] = members;
    if (first === undefined || first.kind === 'connection' || first.kind === 'server') return [];
    const { kind, connection_id } = first;
    const is_large = members.length > ONE_COLUMN;
    // Who searches wants to see what was found.
    const collapsed = is_large && search === '' && expanded !== 'all' && !expanded.has(id);
    const columns = is_large && !collapsed ? Math.ceil(Math.sqrt(members.length / 4)) : 1;
    const rows = Math.ceil(members.length / columns);
    const width = columns * (CHIP.width + CHIP.gap) - CHIP.gap + 2 * PAD;
    const height = collapsed ? COLLAPSED_HEIGHT : HEAD + rows * (CHIP.height + CHIP.gap) - CHIP.gap + PAD;
    const { calls } = sumOf(members);
    return [{ group: { id, collapsed, kind, connection_id, columns, count: members.length, calls, width, height }, members }];
  });
}

/** Column by column, so that names are read downwards. */
function chipsOf(group: FlowGroup, members: readonly Omit<FlowNode, 'x' | 'y'>[]): FlowNode[] {
  if (group.collapsed) return [];
  const rows = Math.ceil(members.length / group.columns);
  return members.map((member, index) => ({
    ...member,
    x: group.x + PAD + Math.floor(index / rows) * (CHIP.width + CHIP.gap),
    y: group.y + HEAD + (index % rows) * (CHIP.height + CHIP.gap),
  }));
}

type Rectangle = { readonly id: string; readonly x: number; readonly y: number; readonly width: number; readonly height: number };

function toEdges(nodes: readonly FlowNode[], groups: readonly FlowGroup[]): FlowEdge[] {
  const by_id = new Map<string, FlowNode>(nodes.map((node) => [node.id, node]));
  const server = by_id.get(SERVER_ID);
  const edge = (from: Rectangle | undefined, to: Rectangle | undefined, calls: number, of: readonly string[]): FlowEdge[] => {
    if (from === undefined || to === undefined) return [];
    const [x1, y1, x2, y2] = [from.x + from.width, from.y + from.height / 2, to.x, to.y + to.height / 2];
    const bend = Math.max(32, (x2 - x1) / 2);
    const path = `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`;
    return [
      { id: `${from.id}>${to.id}`, from: from.id, to: to.id, calls, path, middle: { x: (x1 + x2) / 2, y: (y1 + y2) / 2 }, of },
    ];
  };
  return groups.flatMap((group) => {
    const members = nodes.filter(({ kind, connection_id }) => kind === group.kind && connection_id === group.connection_id);
    const connection = group.connection_id === null ? undefined : by_id.get(group.connection_id);
    const served = members.filter(({ enabled }) => enabled);
    if (group.collapsed || group.columns > 1) {
      const ids = group.collapsed ? [group.id] : members.map(({ id }) => id);
      return [...edge(connection, group, group.calls, ids), ...edge(group, server, group.calls, ids)];
    }
    return [
      ...members.flatMap((node) => edge(connection, node, node.calls, [node.id])),
      ...served.flatMap((node) => edge(node, server, node.calls, [node.id])),
    ];
  });
}

const sizeOf = (rectangles: readonly Rectangle[]) => ({
  width: Math.max(0, ...rectangles.map(({ x, width }) => x + width)) + MARGIN,
  height: Math.max(0, ...rectangles.map(({ y, height }) => y + height)) + MARGIN,
});

/** Everything that hangs together with a node: what it belongs to, what belongs to it, the server. */
export function related({ nodes, groups }: FlowPicture, id: string): ReadonlySet<string> {
  const node = nodes.find((candidate) => candidate.id === id);
  if (node === undefined) return new Set();
  if (node.kind === 'server') return new Set(nodes.filter(({ enabled }) => enabled).map((other) => other.id));
  if (node.kind !== 'connection') return new Set([id, SERVER_ID, ...(node.connection_id === null ? [] : [node.connection_id])]);
  // Groups that are expanded stand for their nodes, which are here themselves.
  const owned = [...nodes, ...groups.filter(({ collapsed }) => collapsed)].filter(({ connection_id }) => connection_id === id);
  return new Set([id, SERVER_ID, ...owned.map((other) => other.id)]);
}
