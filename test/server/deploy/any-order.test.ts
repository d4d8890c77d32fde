import { Database } from 'bun:sqlite';
import { describe, expect, test } from 'bun:test';
import { fc } from '#test/support/chance.ts';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { HostEvent, SnapshotEvent } from '#core/contract/deploy/control.ts';
import { eventForHost } from '#core/deploy/publish.ts';
import { contentOf, createSnapshotCache } from '#core/versions/stored-snapshots.ts';
import { createLog } from '#core/process/log.ts';
import { loadRegistry } from '#mcp-host/registry/load-registry.ts';
import type { Registry } from '#mcp-host/registry/registry.ts';
import { snapshotFile } from '#mcp-host/control/snapshot-file.ts';
import { createSnapshotTaker, type SnapshotTaker } from '#mcp-host/control/take-snapshot.ts';
import { freeze } from '#snapshots/freeze/freeze.ts';
import { readTree } from '#core/store/trees.ts';
import { toBlobs, toTree } from '#snapshots/format/tree.ts';
import { type TestApp, testApp } from '#test/support/app.ts';
import { storedConfiguration } from '#test/support/configuration.ts';
import { reachable } from '#test/support/databases.ts';
import { namedStores } from '#test/support/metadata.ts';

/** Versions that are kept, so few that every run forgets some. */
const KEPT = 3;

const ANSWER = { boot_id: 'b', version: null, checksum: null, load_ms: null, url: null, error: null, request_id: null };
/** The root of the tree of what a registry was loaded from. */
const rootOf = ({ loaded }: Registry): string => toTree([...loaded.keys()]).checksum;

/** The part of a host that takes snapshots: its registry, its copy on disk, its line to the server. */
function openHost(t: TestApp) {
  const path = join(t.directory, 'host/snapshot.json');
  mkdirSync(join(t.directory, 'host'), { recursive: true });
  let held: Registry | null = null;
  let stale = false;
  let taker: SnapshotTaker;
  let queue = Promise.resolve();
  let leave = () => {};
  const have = () => (held === null || stale ? '' : `${held.snapshot_version}:${held.checksum}`);
  const follow = async () => {
    leave();
    leave = t.app.hosts.connect('h1', hear);
    hear(await eventForHost(t.app, have()));
  };
  const hear = ({ event, data }: HostEvent) => {
    if (event === 'listen') t.app.hosts.acknowledge('h1', { ...ANSWER, request_id: data.request_id });
    if (event !== 'snapshot' || typeof data !== 'string') return;
    const news = JSON.parse(data) as SnapshotEvent;
    queue = queue.then(() => taker.take(news));
  };
  const start = async () => {
    const file = snapshotFile(path);
    [held, stale] = [null, false];
    taker = createSnapshotTaker({
      file,
      log: createLog('ERROR', (line) => failures.push(JSON.stringify(line))),
      loadRegistry: (loadable, before) => loadRegistry(loadable, before, 0),
      held: () => held,
      isStale: () => stale,
      async take(registry, fresh) {
        held = registry;
        if (fresh) stale = false;
      },
      save: async (write) => write?.(),
      acknowledge: ({ error, load_ms = null }) =>
        t.app.hosts.acknowledge('h1', {
          ...ANSWER,
          version: held?.snapshot_version ?? null,
          checksum: held?.checksum ?? null,
          load_ms,
          error: error ?? null,
        }),
      askForAll() {
        stale = true;
        void follow();
      },
    });
    const { snapshot, fault } = await file.read();
    if (fault !== null) failures.push(fault);
    if (snapshot !== null) {
      const { texts, ...rest } = snapshot;
      held = await loadRegistry({ ...rest, textOf: (hash) => texts.get(hash) }, null, 0);
      taker.remember(snapshot.checksum, snapshot.leaves);
    }
    await follow();
  };
  const failures: string[] = [];
  return {
    start,
    follow,
    failures,
    /** What is served, and what a restart would serve, each as the checksum of its tree. */
    async serves() {
      await queue;
      const { snapshot } = await snapshotFile(path).read();
      const disk = snapshot === null ? null : toTree(snapshot.leaves).checksum;
      const memory = held === null ? null : rootOf(held);
      return { memory, disk, version: held?.snapshot_version ?? null };
    },
  };
}

const STEPS = ['add', 'edit', 'remove', 'toggle', 'all_off', 'all_on', 'limit', 'connection', 'settings', 'dry_run'] as const;
const MOVES = ['deploy', 'deploy', 'deploy', 'activate', 'restart_server', 'restart_host', 'reconnect', 'look'] as const;
const step = fc.tuple(fc.constantFrom(...STEPS, ...MOVES, ...MOVES), fc.nat(20));

async function play(t: TestApp, steps: readonly (readonly [(typeof STEPS | typeof MOVES)[number], number])[]): Promise<void> {
  await t.signIn();
  t.app.snapshot_cache.max_versions = KEPT;
  mkdirSync(join(t.directory, 'databases'));
  new Database(join(t.directory, 'databases/shop.sqlite')).run('create table products (id integer primary key)');
  const ask = async (method: string, path: string, body?: object) => {
    const answer = await t.request(method, `/api/v1${path}`, body === undefined ? {} : { body });
    if (answer.status >= 400) throw new Error(`${method} ${path}: ${JSON.stringify(answer.body)}`);
    return answer.body;
  };
  const { id: connection_id } = await ask('POST', '/connections', { name: 'shop', db_type: 'sqlite', database: 'shop.sqlite' });
  const host = openHost(t);
  await host.start();
  let made = 0;
  const ids: string[] = [];
  const expected: { checksum: string | null } = { checksum: null };
  const patchAll = async (body: object) => {
    for (const id of ids) await ask('PATCH', `/tools/${id}`, body);
  };
  const one = (n: number) => ids[n % Math.max(ids.length, 1)];
  const deeds: Record<(typeof STEPS | typeof MOVES)[number], (n: number) => Promise<unknown>> = {
    async add() {
      const name = `tool_${++made}`;
      const { id } = await ask('POST', '/tools', {
        connection_id,
        name,
        description: 'A tool',
        sql_query: `select ${made} as n`,
      });
      ids.push(String(id));
    },
    edit: async (n) => one(n) && ask('PATCH', `/tools/${one(n)}`, { description: `Description ${n % 3}` }),
    remove: async (n) => ids.length > 0 && ask('DELETE', `/tools/${ids.splice(n % ids.length, 1)[0]}`),
    toggle: async (n) => one(n) && ask('PATCH', `/tools/${one(n)}`, { enabled: n % 2 === 0 }),
    all_off: () => patchAll({ enabled: false }),
    all_on: () => patchAll({ enabled: true }),
    limit: (n) => ask('PATCH', `/connections/${String(connection_id)}`, { queue_limit: 10 + (n % 3) }),
    connection: (n) => ask('PATCH', `/connections/${String(connection_id)}`, { enabled: n % 3 !== 0 }),
    settings: (n) => ask('PATCH', '/server/config', { server_name: `Server ${n % 3}` }),
    dry_run: () => ask('POST', '/deploy', { dry_run: true }),
    look: () => Promise.all([ask('GET', '/deploy/diff'), ask('GET', '/deploy/status')]),
    async deploy() {
      const { tree } = await freeze(await storedConfiguration(t.app));
      const { checksum, warnings } = await ask('POST', '/deploy', {});
      expect([checksum, JSON.stringify(warnings)]).toEqual([tree.checksum, expect.not.stringContaining('refused')]);
      expected.checksum = tree.checksum;
    },
    async activate(n) {
      const { snapshots } = t.app.store.tables;
      const rows = await t.app.store.db.select({ version: snapshots.version, checksum: snapshots.checksum }).from(snapshots);
      const row = rows[n % Math.max(rows.length, 1)];
      if (row === undefined) return;
      await ask('POST', `/snapshots/${row.version}/activate`, {});
      expected.checksum = row.checksum;
    },
    async restart_server() {
      t.app.working_copy.copy = null;
      t.app.pending = null;
      Object.assign(t.app.snapshot_cache, createSnapshotCache(), { max_versions: KEPT });
    },
    restart_host: () => host.start(),
    reconnect: () => host.follow(),
  };
  for (const [name, n] of [...steps, ['deploy', 0] as const]) {
    await deeds[name](n);
    const { memory, disk } = await host.serves();
    expect([name, memory, disk]).toEqual([name, expected.checksum, expected.checksum]);
  }
  expect(host.failures).toEqual([]);
  await checkStore(t);
}

/** Every version opens and is what its checksum says, and nothing else is stored. */
async function checkStore({ app }: TestApp): Promise<void> {
  const { snapshots, blobs } = app.store.tables;
  const named = new Set<string>();
  const rows = await app.store.db.select().from(snapshots);
  expect(rows.length).toBeLessThanOrEqual(KEPT);
  Object.assign(app.snapshot_cache, createSnapshotCache());
  for (const { content, checksum } of rows) {
    const { leaves, branches } = await readTree(app.store, app.store.db, content);
    expect(toTree(toBlobs(await contentOf(app, leaves)).map(({ text: _, ...leaf }) => leaf)).checksum).toBe(checksum);
    for (const { hash } of [...leaves, ...branches]) named.add(hash);
  }
  const stored = await app.store.db.select({ hash: blobs.hash }).from(blobs);
  expect(stored.map(({ hash }) => hash).toSorted()).toEqual([...named].toSorted());
}

test('a connection that comes back after its last version was forgotten is deployed again', async () => {
  const t = await testApp();
  const forgotten = [0, 1, 2, 3, 4].flatMap((n) => [['settings', n] as const, ['deploy', 0] as const]);
  try {
    await play(t, [['add', 0], ['deploy', 0], ['all_off', 0], ['deploy', 0], ...forgotten, ['all_on', 0], ['look', 0]]);
  } finally {
    await t.close();
  }
});

if (!reachable.postgres) test.skip('edits in any order, kept in PostgreSQL (not reachable)', () => undefined);

describe.each([...namedStores])('edits, deploys, restorations and restarts in any order (%s)', (metadata) => {
  const numRuns = metadata === 'sqlite' ? 12 : 4;
  test(
    'a host serves all that is deployed, and the store holds what the kept versions name',
    () =>
      fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 15, maxLength: 40 }), async (steps) => {
          const t = await testApp({}, undefined, { metadata });
          try {
            await play(t, steps);
          } finally {
            await t.close();
          }
        }),
        { numRuns: Number(process.env['FAULT_ROUNDS'] ?? numRuns) },
      ),
    600_000,
  );
});
