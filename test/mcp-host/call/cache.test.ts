import { Database } from 'bun:sqlite';
import { beforeEach, describe, expect, test } from 'bun:test';
import type { StopSignal } from '#core/engines/shared/stop.ts';
import { type CallResult, createResultCache } from '#mcp-host/call/cache.ts';
import { createCaller } from '#mcp-host/auth/caller.ts';
import { rightsOf } from '#mcp-host/auth/rights.ts';
import { loadRegistry } from '#mcp-host/registry/load-registry.ts';
import type { FrozenTool } from '#snapshots/format/format.ts';
import { connection, modern, parameterOf, snapshotOf, toolOf } from '../support.ts';
import { useHost } from '../use-host.ts';
import { loadableOf } from '#test/mcp-host/snapshot-forms.ts';

let now = 0;
let version = 0;
beforeEach(() => {
  now = Date.now();
});
const { folder, control, host } = useHost('each', { now: () => now });
const count = (more: Partial<FrozenTool> = {}) => ({
  ...toolOf(connection, 'count', 'select count(*) as n, :tag as tag from customers', {
    parameters: [parameterOf('tag', 'string', { required: false, default: 'none' })],
  }),
  id: 'the-tool',
  cache_ttl_seconds: 60,
  ...more,
});
const deployTool = (tool: FrozenTool, more: Parameters<typeof snapshotOf>[1] = {}) =>
  control.deploy(snapshotOf(++version, { connections: [connection], tools: [tool], ...more }));

function addCustomer(): void {
  const db = new Database(folder.file);
  db.run("insert into customers (name) values ('New')");
  db.close();
}
const callCached = async (args: object = {}) => {
  const { body } = await modern(host.mcp, 'tools/call', { name: 'count', arguments: args });
  return (body.result?.['structuredContent'] as { rows: { n: number; tag: string }[] } | undefined)?.rows[0];
};
const completed = async () => (await host.health()).connections[0]?.queue.completed;

describe('a result', () => {
  test('is kept for its time, for equal arguments', async () => {
    await deployTool(count());
    expect(await callCached()).toEqual({ n: 3, tag: 'none' });
    addCustomer();
    expect([await callCached(), await callCached({ tag: 'none' }), await callCached({ tag: 'a' })]).toEqual([
      { n: 3, tag: 'none' },
      { n: 3, tag: 'none' },
      { n: 4, tag: 'a' },
    ]);
    expect(await completed()).toBe(2);
    now += 60_001;
    expect((await callCached())?.n).toBe(4);
  });

  test('is asked for anew without a time, and by a tool that writes', async () => {
    await deployTool(count({ cache_ttl_seconds: 0 }));
    await callCached();
    await callCached();
    expect(await completed()).toBe(2);
    await deployTool(count({ mode: 'write' }));
    await callCached();
    await callCached();
    expect(await completed()).toBe(4);
  });

  test('of equal calls at one moment is asked for once', async () => {
    await deployTool(count());
    const answers = await Promise.all(Array.from({ length: 30 }, () => callCached()));
    expect(new Set(answers.map((row) => row?.n))).toEqual(new Set([3]));
    expect(await completed()).toBe(1);
  });

  test('is dropped at a deploy that changes its tool, its connection or a variable, and kept at any other', async () => {
    const next = async (tool: FrozenTool, more: Parameters<typeof snapshotOf>[1] = {}) => {
      addCustomer();
      await deployTool(tool, more);
      return (await callCached())?.n;
    };
    await deployTool(count());
    await callCached();
    expect(await next(count(), { server: { server_name: 'Renamed' } })).toBe(3);
    expect(await next(count({ max_rows: 10 }))).toBe(5);
    expect(await next(count({ max_rows: 10 }), { server: { global_variables: { a: 1 } } })).toBe(6);
    const moved = { ...connection, pool_key: 'sha256:moved' };
    expect(await next(count({ max_rows: 10 }), { connections: [moved], server: { global_variables: { a: 1 } } })).toBe(7);
  });

  test('that is an error is not kept', async () => {
    await deployTool(count({ statement: toolOf(connection, 'x', 'select n from later').statement, parameters: [] }));
    expect(await callCached()).toBeUndefined();
    const db = new Database(folder.file);
    db.run('create table later as select 7 as n');
    db.close();
    expect((await callCached())?.n).toBe(7);
  });
});

describe('the store', () => {
  const registryOf = (tool: FrozenTool) => loadRegistry(loadableOf(snapshotOf(1, { connections: [connection], tools: [tool] })));
  const ran = (members: string): CallResult => ({ members, rows: 1, wait_ms: 0, truncated: false });
  const deadline = new AbortController().signal;
  const { rights } = createCaller('token:1', null);

  test('stays within its size: the longest unused goes first, and what is too large is not kept', async () => {
    const registry = await registryOf(count());
    const tool = registry.tools.get('count');
    if (tool === undefined) throw new Error('no tool');
    const cache = createResultCache(() => now, 4_000, 1_500);
    cache.use(registry);
    let runs = 0;
    const ask = (n: number, size = 900) =>
      cache.through(tool, { registry, rights, deadline }, { n }, async () => {
        runs++;
        return ran('x'.repeat(size));
      });
    for (const n of [1, 2, 3, 4]) await ask(n);
    await ask(1);
    await ask(5);
    expect(cache.size()).toBeLessThanOrEqual(4_000);
    expect(runs).toBe(5);
    await ask(1);
    expect(runs).toBe(5);
    await ask(2);
    expect(runs).toBe(6);
    await ask(6, 2_000);
    await ask(6, 2_000);
    expect(runs).toBe(8);
  });

  test('a caller that leaves does not end the run of the others; the last one does', async () => {
    const registry = await registryOf(count());
    const tool = registry.tools.get('count');
    if (tool === undefined) throw new Error('no tool');
    const cache = createResultCache(() => now);
    cache.use(registry);
    const { promise, resolve } = Promise.withResolvers<CallResult>();
    const ends: StopSignal[] = [];
    const run = (_: object, end: StopSignal) => {
      ends.push(end);
      return promise;
    };
    const callers = [new AbortController(), new AbortController()];
    const [first, second] = callers.map(({ signal }) =>
      Promise.resolve(cache.through(tool, { registry, rights, deadline: signal }, {}, run)).catch(String),
    );
    callers[0]?.abort();
    expect(await first).toContain('cancelled');
    expect(ends.map(({ aborted }) => aborted)).toEqual([false]);
    callers[1]?.abort();
    expect(await second).toContain('cancelled');
    expect(ends.map(({ aborted }) => aborted)).toEqual([true]);
    resolve(ran('late'));
  });

  test('callers of equal rights share a result, callers of different rights do not, nor a run that goes on', async () => {
    const registry = await registryOf(count());
    const tool = registry.tools.get('count');
    if (tool === undefined) throw new Error('no tool');
    const cache = createResultCache(() => now);
    cache.use(registry);
    let runs = 0;
    const ask = async (owner: string, key: string) =>
      cache.through(tool, { registry, rights: createCaller(owner, null, rightsOf([key])).rights, deadline }, {}, async () => {
        runs++;
        await Bun.sleep(5);
        return ran(`for ${key}`);
      });
    const asked: [owner: string, key: string][] = [
      ['token:1', 'sales'],
      ['token:2', 'sales'],
      ['token:3', 'support'],
    ];
    for (let round = 0; round < 2; round++) {
      const answers = await Promise.all(asked.map(([owner, key]) => ask(owner, key)));
      expect(answers.map((answer) => answer?.members)).toEqual(['for sales', 'for sales', 'for support']);
      expect(runs).toBe(2);
    }
  });

  test('is dropped at a deploy that changes a variable alone, of which a host is sent nothing else', async () => {
    const content = { connections: [connection], tools: [count()] };
    const first = loadableOf(snapshotOf(1, content));
    const changed = loadableOf(snapshotOf(2, { ...content, server: { global_variables: { a: 1 } } }));
    const before = await loadRegistry(first);
    // As a host applies a deploy: what did not change is the leaf that it has.
    const leaves = changed.leaves.map((leaf) => first.leaves.find(({ hash }) => hash === leaf.hash) ?? leaf);
    const textOf = (hash: string) => (first.leaves.some((leaf) => leaf.hash === hash) ? undefined : changed.textOf(hash));
    const after = await loadRegistry({ ...changed, leaves, textOf }, before);
    expect(after.tools.get('count')).toBe(before.tools.get('count'));
    const cache = createResultCache(() => now);
    let runs = 0;
    const ask = (registry: typeof before) => {
      const tool = registry.tools.get('count');
      cache.use(registry);
      return tool && cache.through(tool, { registry, rights, deadline }, {}, async () => ran(`run ${++runs}`));
    };
    expect(await ask(before)).toMatchObject({ members: 'run 1' });
    expect(await ask(before)).toMatchObject({ members: 'run 1' });
    expect(await ask(after)).toMatchObject({ members: 'run 2' });
  });
});
