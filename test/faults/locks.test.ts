import { afterAll, beforeAll, expect, test } from 'bun:test';
import { Database } from 'bun:sqlite';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type TestApp, testApp } from '#test/support/app.ts';
import { connectHost } from '#test/support/host.ts';
import { createRandom } from '#test/support/chance.ts';
import { rounds } from './random.ts';

/**
 * Two administrators and an agent change the same records at the same time, deploy and roll back. The model is a register with
 * an optimistic lock: of all writes that carry one version at most one is taken, every other is a 409, versions grow by one,
 * and the history is one unbroken chain of what was taken.
 */
const ROUNDS = rounds(40);
const AT_ONCE = 8;
const TOOLS = 4;

const random = createRandom();
let t: TestApp;
const callers: Record<string, string>[] = [];
const ids: string[] = [];

interface Tool {
  readonly id: string;
  readonly name: string;
  readonly version: number;
  readonly description: string;
}

interface Entry {
  readonly id: string;
  readonly action: string;
  readonly version_before: number | null;
  readonly version_after: number | null;
  readonly changes: Record<string, { old: unknown; new: unknown }>;
  readonly actor: { readonly type: string };
}

const as = (caller: Record<string, string>, method: string, path: string, body?: unknown) =>
  t.request(method, `/api/v1${path}`, { anonymous: true, headers: caller, ...(body === undefined ? {} : { body }) });

beforeAll(async () => {
  t = await testApp();
  // Without any host a deploy waits for one.
  connectHost(t.app, 'host');
  const account = { username: 'ada', password: 'correct horse' };
  await t.signIn();
  for (let i = 0; i < 2; i++) {
    const { headers } = await t.send('auth.login', account, { anonymous: true });
    callers.push({ cookie: headers.get('set-cookie')?.split(';')[0] ?? '' });
  }
  const token = await t.call('agent_tokens.create', { name: 'agent', duration_minutes: 60 });
  callers.push({ authorization: `Bearer ${token.token}` });
  await t.call('config.update', { agent_rate_limit: 100_000 });
  mkdirSync(join(t.directory, 'databases'), { recursive: true });
  new Database(join(t.directory, 'databases/d.sqlite')).run('create table a (id int)');
  const connection = await t.call('connections.create', { name: 'd', db_type: 'sqlite', database: 'd.sqlite' });
  for (let i = 0; i < TOOLS; i++) {
    const draft = {
      connection_id: connection.id,
      name: `tool_${i}`,
      description: 'first',
      sql_query: 'select id from a',
    };
    ids.push((await t.call('tools.create', draft)).id);
  }
}, 60_000);

afterAll(() => t.close());

const read = async (id: string): Promise<Tool> => await t.call('tools.get', { id });
const history = async (id: string): Promise<Entry[]> => {
  const answer = await t.call('history.entity', { entity_type: 'tool', entity_id: id, limit: 100 });
  return (answer as unknown as { items: Entry[] }).items;
};

test(
  `of changes with one version one is taken, and every deploy is whole (seed ${random.seed})`,
  async () => {
    let last_version = 0;
    for (let round = 0; round < ROUNDS; round++) {
      const before = new Map(await Promise.all(ids.map(async (id) => [id, await read(id)] as const)));
      // The first entry created the tool: undoing that would delete it.
      const entries = (await history(random.pick(ids))).filter(({ action }) => action !== 'create');
      const works = Array.from({ length: AT_ONCE }, (_, index) => {
        const id = random.pick(ids);
        const caller = random.pick(callers);
        // Now and then somebody still holds an older version.
        const version = Math.max(1, (before.get(id)?.version ?? 0) - (random.whole(5) === 0 ? 1 : 0));
        const entry = entries[random.whole(Math.max(1, entries.length))];
        const kind = random.pick(['patch', 'patch', 'patch', entry ? 'rollback' : 'patch', 'deploy'] as const);
        return { id, caller, version, kind, text: `round ${round}, caller ${index}`, entry };
      });
      const answers = await Promise.all(
        works.map(async (work) => {
          if (work.kind === 'deploy') return as(work.caller, 'POST', '/deploy', {});
          if (work.kind === 'rollback') return as(work.caller, 'POST', `/history/${work.entry?.id ?? ''}/rollback`, {});
          return as(work.caller, 'PATCH', `/tools/${work.id}`, { description: work.text, version: work.version });
        }),
      );
      const told = works.map((work, index) => ({ ...work, status: answers[index]?.status, body: answers[index]?.body }));
      for (const { kind, status, body } of told) {
        const allowed = { patch: [200, 409], rollback: [200, 404, 409, 422], deploy: [200] }[kind];
        expect({ kind, fine: allowed.includes(status ?? 0), body }).toEqual({ kind, fine: true, body });
      }
      for (const id of ids) {
        const start = before.get(id)!;
        const taken = told.filter((work) => work.kind === 'patch' && work.id === id && work.status === 200);
        const versions = taken.map((work) => work.version);
        expect(new Set(versions).size).toBe(versions.length);
        expect(taken.filter((work) => work.version < start.version)).toEqual([]);
        for (const work of taken) expect(work.body).toMatchObject({ version: work.version + 1, description: work.text });
      }
      const versions = told.filter(({ kind }) => kind === 'deploy').map(({ body }) => Number(body?.['snapshot_version']));
      for (const version of versions) expect(version).toBeGreaterThanOrEqual(last_version);
      last_version = Math.max(last_version, ...versions);
    }
    for (const id of ids) await compareChain(id);
    const receipt = await t.call('deploy.run', {});
    const snapshot = await t.send('snapshots.get', { version: String(receipt.snapshot_version) });
    const { tools } = snapshot.body.content as { tools: { id: string; definition: { description: string } }[] };
    const there = await Promise.all(ids.map(read));
    for (const tool of there) expect(JSON.stringify(tools)).toContain(JSON.stringify(tool.description));
  },
  60_000 + ROUNDS * 1_000,
);

/** From the newest entry back: each begins where the one before it ended, in version and in every field that it changed. */
async function compareChain(id: string): Promise<void> {
  const entries = (await history(id)).toSorted((a, b) => Number(a.version_after) - Number(b.version_after));
  const tool = await read(id);
  expect(entries.at(-1)?.version_after).toBe(tool.version);
  const state: Record<string, unknown> = {};
  for (const [index, entry] of entries.entries()) {
    if (index > 0) expect(entry.version_before).toBe(entries[index - 1]?.version_after ?? null);
    for (const [field, change] of Object.entries(entry.changes)) {
      if (field in state && field !== 'updated_at') expect({ field, value: change.old }).toEqual({ field, value: state[field] });
      state[field] = change.new;
    }
  }
  expect(state['description']).toBe(tool.description);
}
