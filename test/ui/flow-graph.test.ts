import { expect, test } from 'bun:test';
import { definitionsOf, drawPicture, type FlowLayout } from '#ui/src/pages/flow/picture.ts';

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

/** The drawing while nothing is called. */
const quiet = (layout: FlowLayout, expanded: ReadonlySet<string> = new Set()) =>
  drawPicture({ layout, definitions: new Map(), pairs: [], expanded, width: 1_200 });

test('without calls, the drawing has every definition with its connection, and nothing overlaps', () => {
  const layout = layoutOf(2, 3);
  const { boxes, edges } = quiet(layout);
  expect(boxes.map(({ name }) => name).toSorted()).toEqual(
    [...layout.tools, ...layout.prompts, ...layout.connections].map(({ name }) => name).toSorted(),
  );
  expect(edges.map(({ to }) => to).toSorted()).toEqual([...Array(3).fill('connection:c0'), ...Array(3).fill('connection:c1')]);
  for (const [index, box] of boxes.entries()) expect(boxes.slice(index + 1).filter((other) => overlap(box, other))).toEqual([]);
  expect(definitionsOf(layout).get('tool:c1:tool_c1_2')?.href).toBe('/tools/c1-t2');
});

test('three hundred definitions open as one group for each connection, which expands', () => {
  const layout = layoutOf(5, 60);
  const kinds = (expanded?: ReadonlySet<string>) =>
    Object.fromEntries(
      [...Map.groupBy(quiet(layout, expanded).boxes, ({ kind }) => kind)].map(([kind, { length }]) => [kind, length]),
    );
  expect(kinds()).toEqual({ group: 5, connection: 5, leaf: 1 });
  expect(kinds(new Set(['group:c1']))).toEqual({ group: 5, connection: 5, leaf: 61 });
});

test('the drawing gives way to a narrow window, until names could no longer be read', () => {
  const pairs = [{ client: 'claude', definition: 'tool:a:find', calls: 1, errors: 0, p95_ms: 1, longest_ms: 1 }];
  const definition = { kind: 'tool' as const, name: 'find', connection_id: 'a' };
  const draw = (width: number) =>
    drawPicture({
      layout: layoutOf(0, 0),
      definitions: new Map([['tool:a:find', definition]]),
      pairs,
      expanded: new Set(),
      width,
    });
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
