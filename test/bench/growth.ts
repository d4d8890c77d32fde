import { writeAudit } from '#core/audit/writer.ts';
import { testApp } from '#test/support/app.ts';
import { reachable, testDatabase } from '#test/support/databases.ts';
import { toBatch } from '#test/support/usage.ts';

/** How much the metadata database grows by calls: `bun test/bench/growth.ts 100000`; with `alone`, each call has an audit entry of its own. */

const CALLS = Number(process.argv[2] ?? 100_000);
const ALONE = process.argv[3] === 'alone';
const BATCH = 500;
const TOOLS = 20;
const CLIENTS = ['claude-code/2.1.0', 'cursor/1.7', 'openai-mcp/1.0'];

/** As hosts send calls: those that differ in nothing but time and result share a group. */
function merged({ groups, calls, ...rest }: ReturnType<typeof toBatch>): ReturnType<typeof toBatch> {
  const keys = groups.map((group) => JSON.stringify(group));
  const unique = [...new Set(keys)];
  const indexes = new Map(unique.map((key, n) => [key, n]));
  const group = calls.group.map((n) => indexes.get(keys[n] ?? '') ?? 0);
  return { groups: unique.map((key) => JSON.parse(key) as (typeof groups)[number]), calls: { ...calls, group }, ...rest };
}

async function growth(dialect: 'sqlite' | 'postgresql'): Promise<void> {
  const database = dialect === 'postgresql' ? await testDatabase('postgresql') : null;
  const t = await testApp({}, database?.url, { metadata: dialect });
  const headers = { 'x-service-token': t.app.env.SVC_AGENT_SERVICE_TOKEN };
  const size = async (): Promise<number> => {
    const text = String((await t.request('GET', '/metrics', { headers, anonymous: true })).body['text']);
    return Number(/^sluice_database_size_bytes (\S+)$/m.exec(text)?.[1]);
  };
  try {
    const before = await size();
    const start = t.app.clock().getTime() - 3_600_000;
    for (let first = 0; first < CALLS; first += BATCH) {
      const calls = Array.from({ length: BATCH }, (_, n) => {
        const number = first + n;
        const tool = number % TOOLS;
        return {
          timestamp: new Date(start + Math.floor((number / CALLS) * 3_600_000)).toISOString(),
          kind: 'tool' as const,
          name: `find_orders_${tool}`,
          entity_id: `0198f2a0-0000-7000-8000-0000000000${10 + tool}`,
          connection_id: '0198f2a0-0000-7000-8000-000000000001',
          duration_ms: 3 + (number % 40),
          wait_ms: 0.1,
          rows: 10,
          bytes: 2_000,
          tokens: 500,
          error: number % 100 === 0 ? 'sql_error' : null,
          snapshot_version: 1,
          client: CLIENTS[number % CLIENTS.length] ?? '',
          token_prefix: 'svc_mcp_abcd',
        };
      });
      const batch = ALONE ? toBatch(calls) : merged(toBatch(calls));
      const body = { boot_id: 'boot-1', seq: 1 + first / BATCH, ...batch };
      const { status } = await t.request('POST', '/api/internal/hosts/h1/usage', { body, headers });
      if (status !== 204) throw new Error(`The calls were answered with ${status}.`);
      // As the server does every few seconds.
      if ((first / BATCH) % 5 === 4) await writeAudit(t.app);
    }
    await writeAudit(t.app);
    const entries = await t.app.store.db.$count(t.app.store.tables.audit_entries);
    const grown = (await size()) - before;
    const million = (grown / CALLS) * 1_000_000;
    process.stdout.write(
      `${dialect}: ${CALLS.toLocaleString('en')} calls took ${(grown / 1e6).toFixed(1)} MB, a million ${(million / 1e6).toFixed(0)} MB, with ${entries.toLocaleString('en')} audit entries.\n`,
    );
  } finally {
    await t.close();
    await database?.drop();
  }
}

await growth('sqlite');
if (reachable.postgres) await growth('postgresql');
