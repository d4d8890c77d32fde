import { describe, expect, test } from 'bun:test';
import { drawFlow, type FlowLayout, related, SERVER_ID } from '#ui/src/pages/flow/flow-graph.ts';
import { drawPicture } from '#ui/src/pages/flow/live/picture.ts';
import { centreOn, firstView, fit, SCALE, shownPart, zoomAt } from '#ui/src/pages/flow/flow-view.ts';
import { processorMs } from '#test/support/processor-time.ts';

const ALL = {
  search: '',
  kinds: ['tool', 'resource', 'prompt'],
  connection_id: undefined,
  toolset: undefined,
  expanded: new Set<string>(),
} as const;

function layoutOf(connections: number, tools_each: number): FlowLayout {
  const ids = Array.from({ length: connections }, (_, n) => `c${n}`);
  const tools = ids.flatMap((connection_id) =>
    Array.from({ length: tools_each }, (_, n) => ({
      id: `${connection_id}-t${n}`,
      name: `tool_${connection_id}_${n}`,
      enabled: n !== 1,
      connection_id,
      tags: ['shop'],
      read_only: n !== 0,
    })),
  );
  return {
    connections: ids.map((id) => ({ id, name: `db ${id}`, enabled: true, db_type: 'postgresql' })),
    tools,
    resources: [],
    prompts: [{ id: 'p', name: 'report', enabled: true, connection_id: null, tags: [] }],
    toolsets: [],
    edges: [],
    server: { server_name: 'Shop', status: 'running', snapshot_version: 3, transport: 'http', auth_type: 'none' },
    totals: { connections, tools: tools.length, resources: 0, prompts: 1, toolsets: 0 },
    pending_changes: 0,
  };
}

const overlap = (a: { x: number; y: number; width: number; height: number }, b: typeof a) =>
  a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;

describe('the picture', () => {
  const usage = {
    id: null,
    errors: 1,
    ran: 1,
    error_rate: 0,
    avg_ms: 1,
    p50_ms: 1,
    p95_ms: 1,
    p99_ms: 1,
    rows: 1,
    bytes: 1,
    last_called_at: '',
    outcomes: {},
  };
  const stats = { tools: { tool_c0_0: { ...usage, calls: 7 } }, resources: {}, prompts: {} };
  const small = drawFlow(layoutOf(2, 3), stats, ALL);

  test('a toolset leaves what it holds, with its connection', () => {
    const layout = layoutOf(2, 3);
    const memberships = [
      { id: 's1', name: 'desk', enabled: true, members: ['c1-t0', 'c1-t2', 'p'] },
      { id: 's2', name: 'all', enabled: true, members: ['c0-t0', 'c1-t0'] },
    ];
    const names = (toolset: string | undefined) =>
      drawFlow(layout, undefined, { ...ALL, toolset }, memberships).nodes.map(({ name }) => name);
    expect(names('desk')).toEqual(['db c1', 'tool_c1_0', 'tool_c1_2', 'report', 'Shop']);
    expect(names('gone')).toEqual(['Shop']);
    expect(names(undefined)).toHaveLength(10);
    const [tool] = drawFlow(layout, undefined, ALL, memberships).nodes.filter(({ id }) => id === 'c1-t0');
    expect(tool?.toolsets).toEqual(['desk', 'all']);
  });

  test('goes from connections over what they own to the server, and nothing overlaps', () => {
    const at = (id: string) => small.nodes.find((node) => node.id === id)?.x ?? Number.NaN;
    expect(at('c0')).toBeLessThan(at('c0-t0'));
    expect(at('c0-t0')).toBeLessThan(at(SERVER_ID));
    for (const [index, node] of small.nodes.entries()) {
      expect(small.nodes.slice(index + 1).filter((other) => overlap(node, other))).toEqual([]);
      expect([node.x >= 0, node.x + node.width <= small.width, node.y + node.height <= small.height]).toEqual([true, true, true]);
    }
  });

  test('has an edge for each tool, to the server only when it is on, and counts calls', () => {
    const into = small.edges.filter(({ from }) => from === 'c0').map(({ to, calls }) => [to, calls]);
    expect(into).toEqual([
      ['c0-t0', 7],
      ['c0-t1', 0],
      ['c0-t2', 0],
    ]);
    expect(small.edges.some(({ from, to }) => from === 'c0-t1' && to === SERVER_ID)).toBe(false);
    expect(small.edges.filter(({ from }) => from === 'p').map(({ to }) => to)).toEqual([SERVER_ID]);
    expect(small.nodes.find(({ id }) => id === 'c0')).toMatchObject({ calls: 7, errors: 1, href: '/connections/c0' });
    expect(small.nodes.find(({ id }) => id === 'c0-t0')).toMatchObject({ writes: true, href: '/tools/c0-t0' });
  });

  test('shows what is looked for, with where it belongs', () => {
    const found = drawFlow(layoutOf(2, 3), undefined, { ...ALL, search: 'TOOL_C1_2' });
    expect(found.nodes.map(({ id }) => id).toSorted()).toEqual(['c1', 'c1-t2', SERVER_ID]);
    const prompts = drawFlow(layoutOf(2, 3), undefined, { ...ALL, kinds: ['prompt'] });
    expect(prompts.nodes.filter(({ kind }) => kind === 'tool')).toEqual([]);
    const one = drawFlow(layoutOf(2, 3), undefined, { ...ALL, connection_id: 'c0' });
    expect(one.nodes.filter(({ kind }) => kind === 'connection')).toHaveLength(1);
    const nothing = drawFlow(layoutOf(0, 0), undefined, { ...ALL, kinds: ['tool'] });
    expect(nothing.nodes.map(({ id }) => id)).toEqual([SERVER_ID]);
  });

  test('knows what hangs together', () => {
    expect([...related(small, 'c0-t2')].toSorted()).toEqual(['c0', 'c0-t2', SERVER_ID]);
    expect(related(small, 'c1').size).toBe(5);
    expect(related(small, SERVER_ID).has('c0-t1')).toBe(false);
    expect(related(small, 'nobody').size).toBe(0);
  });
});

test('five hundred nodes stand in columns, with one line for all of a group', () => {
  const began = processorMs();
  const expanded = new Set(['c0', 'c1', 'c2', 'c3'].map((id) => `group:${id}:tool`));
  const large = drawFlow(layoutOf(4, 124), undefined, { ...ALL, expanded });
  expect(processorMs() - began).toBeLessThan(5_000);
  expect(large.nodes).toHaveLength(502);
  expect(large.edges.length).toBeLessThan(20);
  expect(large.groups.every(({ columns, count }) => (count > 12 ? columns > 3 : columns === 1))).toBe(true);
  for (const [index, node] of large.nodes.entries())
    expect(large.nodes.slice(index + 1).some((other) => overlap(node, other))).toBe(false);
});

test('three hundred tools open collapsed, as a whole and readable', () => {
  const picture = drawFlow(layoutOf(5, 60), undefined, ALL);
  expect(picture.groups.filter(({ collapsed }) => collapsed).map(({ count }) => count)).toEqual([60, 60, 60, 60, 60]);
  expect(picture.nodes.map(({ kind }) => kind).filter((kind) => kind === 'tool')).toEqual([]);
  expect(fit(picture, { width: 1_130, height: 600 }).scale).toBeGreaterThan(0.9);
  expect(related(picture, 'c1').has('group:c1:tool')).toBe(true);
  const one = drawFlow(layoutOf(5, 60), undefined, { ...ALL, expanded: new Set(['group:c1:tool']) });
  expect(one.nodes.filter(({ kind }) => kind === 'tool')).toHaveLength(60);
  const found = drawFlow(layoutOf(5, 60), undefined, { ...ALL, search: 'tool_c2' });
  expect(found.groups).toMatchObject([{ collapsed: false, count: 60 }]);
});

test('a view fits, zooms at the pointer and keeps within its limits', () => {
  const frame = { width: 400, height: 300 };
  expect(fit({ width: 800, height: 300 }, frame)).toEqual({ scale: 0.5, x: 0, y: 75 });
  expect(fit({ width: 100, height: 100 }, frame)).toEqual({ scale: 1, x: 150, y: 100 });
  expect(fit({ width: 0, height: 0 }, frame).scale).toBe(1);
  expect(firstView({ width: 100, height: 100 }, frame)).toEqual(fit({ width: 100, height: 100 }, frame));
  // What is too high to be read as a whole begins at its top.
  expect(firstView({ width: 500, height: 30_000 }, frame)).toEqual({ scale: 0.75, x: 12.5, y: 0 });
  const nearer = zoomAt({ x: 0, y: 0, scale: 1 }, 2, { x: 100, y: 50 });
  expect(nearer).toEqual({ x: -100, y: -50, scale: 2 });
  expect(zoomAt(nearer, 10, { x: 0, y: 0 }).scale).toBe(SCALE.most);
  expect(zoomAt(nearer, 0.001, { x: 0, y: 0 }).scale).toBe(SCALE.least);
  expect(shownPart(nearer, frame)).toEqual({ x: 50, y: 25, width: 200, height: 150 });
  const middle = shownPart(centreOn(nearer, frame, { x: 300, y: 300 }), frame);
  expect([middle.x + middle.width / 2, middle.y + middle.height / 2]).toEqual([300, 300]);
});

test('the live picture gives way to a narrow window, until names could no longer be read', () => {
  const pairs = [{ client: 'claude', definition: 'tool:a:find', calls: 1, errors: 0, p95_ms: 1, longest_ms: 1 }];
  const definition = { kind: 'tool' as const, name: 'find', connection_id: 'a' };
  const draw = (width: number) =>
    drawPicture({ layout: undefined, definitions: new Map([['tool:a:find', definition]]), pairs, expanded: new Set(), width });
  for (const width of [1200, 900, 736, 680]) {
    const { boxes, width: whole } = draw(width);
    expect(whole).toBe(width);
    const [client, tool, connection] = boxes.toSorted((a, b) => a.x - b.x);
    expect((client?.x ?? 0) + (client?.width ?? 0)).toBeLessThanOrEqual((tool?.x ?? 0) - 40);
    expect((tool?.x ?? 0) + (tool?.width ?? 0)).toBeLessThanOrEqual((connection?.x ?? 0) - 39);
    expect((connection?.x ?? 0) + (connection?.width ?? 0)).toBeLessThanOrEqual(width - 24);
  }
  expect(draw(400).width).toBe(680);
});
