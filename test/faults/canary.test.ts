import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type Cluster, type Member, startCluster } from '#test/support/cluster.ts';
import { reachable } from '#test/support/databases.ts';
import { modern } from '#test/mcp-host/support.ts';
import type { Programs } from '#test/support/programs.ts';
import { createRandom } from '#test/support/chance.ts';
import { until } from '#test/support/until.ts';

/**
 * Three hosts and two servers on one PostgreSQL and one Redis, while a canary runs: 16 callers call, deploys change the live version
 * at a steady pace with a test among their gates, and a server is killed. No call is lost, each caller stays on its side on
 * every host, and both sides are counted exactly. `CANARY_SECONDS=120` runs it for long.
 */
const SECONDS = Number(process.env['CANARY_SECONDS'] ?? 8);
const DEPLOYS_PER_MINUTE = 100;
const CALLERS = 16;

interface Side {
  readonly calls: number;
  readonly errors: number;
}
interface Canary {
  readonly status: string;
  readonly reason: string | null;
  readonly live: Side;
  readonly canary: Side;
}
interface Status {
  readonly snapshot_version: number;
  readonly hosts: readonly { readonly id: string; readonly url: string; readonly snapshot_version: number }[];
  readonly canary: Canary | null;
}
interface Entry {
  readonly entity_name: string;
  readonly action: string;
}

describe.skipIf(!reachable.postgres || !reachable.redis)('a canary under load', () => {
  const random = createRandom();
  let cluster: Cluster;
  let one: Programs;
  let other: Programs;
  let hosts: Member[] = [];
  let probe = '';
  let bystander = '';
  let tokens: string[] = [];

  const told = () =>
    [one, other].map((server) => server.output().slice(-2_000)).join('\n---\n') +
    hosts.map((host) => host.output().slice(-800)).join('\n---\n');
  const eventually = (condition: () => Promise<boolean>) => until(condition, told);
  const status = (server = one) => server.api<Status>('GET', '/deploy/status');
  const urls = async () => (await status()).hosts.map(({ url }) => new URL('/mcp', url));
  const settled = () =>
    eventually(async () => {
      const { hosts: rows, snapshot_version } = await status();
      return rows.length === 3 && rows.every((row) => row.snapshot_version === snapshot_version);
    });
  const side = (name: string) => one.api('PATCH', `/tools/${probe}`, { sql_query: `select '${name}' as side` });
  /** The side that a caller meets at a host; throws for a call that is lost. */
  const call = async (url: URL, token: string): Promise<string> => {
    const headers = { authorization: `Bearer ${token}` };
    const { status: code, body } = await modern(url, 'tools/call', { name: 'probe', arguments: {} }, headers);
    const { isError, structuredContent } = (body.result ?? {}) as {
      isError?: boolean;
      structuredContent?: { rows: { side: string }[] };
    };
    if (code !== 200 || structuredContent === undefined) {
      if (isError === true) return 'error';
      throw new Error(`lost: ${code} ${JSON.stringify(body)}`);
    }
    return structuredContent.rows[0]?.side ?? '';
  };
  const counted = (live: number, canary: number) =>
    eventually(async () => {
      const now = (await status()).canary;
      return now?.live.calls === live && now.canary.calls === canary;
    });

  beforeAll(async () => {
    cluster = await startCluster(8, () => ({ SVC_CALLER_RATE_LIMIT: '0', SVC_TOOL_RATE_LIMIT: '0' }));
    one = await cluster.startServer();
    other = await cluster.startServer();
    hosts = [cluster.startHost(), cluster.startHost(), cluster.startHost()];
    await one.signIn();
    await other.signIn();
    const { items } = await one.api<{ items: { id: string }[] }>('GET', '/connections');
    const connection_id = items[0]?.id;
    const tool = async (name: string, sql_query: string) => {
      const description = `Answers with what ${name} is asked for, for tests of canaries.`;
      return (await one.api<{ id: string }>('POST', '/tools', { connection_id, name, description, sql_query })).id;
    };
    probe = await tool('probe', "select 'live' as side");
    bystander = await tool('bystander', 'select 1 as n');
    await one.api('POST', '/tests', {
      owner: { kind: 'tool', id: bystander },
      name: 'one row',
      arguments: {},
      expect: { rows: { min: 1, max: 1 } },
    });
    await one.api('PATCH', '/server/config', { auth_type: 'bearer' });
    await one.api('POST', '/deploy', {});
    await settled();
    tokens = await Promise.all(
      Array.from({ length: CALLERS }, async (_, n) => {
        return (await one.api<{ token: string }>('POST', '/mcp-tokens', { name: `caller ${n}`, all_toolsets: true })).token;
      }),
    );
    const all = await urls();
    await eventually(async () => {
      for (const url of all) for (const token of tokens) if ((await call(url, token)) !== 'live') return false;
      return true;
    });
  }, 180_000);
  afterAll(() => cluster.stop(), 60_000);

  test(
    `${DEPLOYS_PER_MINUTE} deploys a minute lose no call, and both sides are stable and counted exactly`,
    async () => {
      await side('canary');
      const began = await one.api<{ warnings: string[] }>('POST', '/deploy', {
        canary: { percent: 50, minutes: 120, max_error_rate: 0, max_p95_ratio: null },
      });
      expect(began.warnings.filter((text) => text.includes('host'))).toEqual([]);
      await side('live');
      const all = await urls();
      const ends = performance.now() + SECONDS * 1_000;
      const tally = { live: 0, canary: 0 };
      const sides = new Map<string, string>();
      const faults: string[] = [];
      const caller = async (token: string) => {
        while (performance.now() < ends) {
          const url = random.pick(all);
          const met = await call(url, token).catch(String);
          if (met !== 'live' && met !== 'canary') faults.push(met);
          else {
            tally[met] += 1;
            const first = sides.get(token) ?? met;
            sides.set(token, first);
            if (first !== met) faults.push(`moved from ${first} to ${met}`);
          }
          await Bun.sleep(5);
        }
      };
      let deploys = 0;
      const deploying = async () => {
        const started = performance.now();
        while (performance.now() < ends) {
          deploys += 1;
          await one.api('PATCH', `/tools/${bystander}`, { title: `Bystander ${deploys}` });
          await (deploys % 2 === 0 ? one : other).api('POST', '/deploy', {});
          await Bun.sleep(Math.max(0, started + deploys * (60_000 / DEPLOYS_PER_MINUTE) - performance.now()));
        }
      };
      await Promise.all([deploying(), ...tokens.map(caller)]);
      expect(faults).toEqual([]);
      expect(new Set(sides.values())).toEqual(new Set(['live', 'canary']));
      await counted(tally.live, tally.canary);
      expect((await status()).canary).toMatchObject({
        status: 'running',
        live: { calls: tally.live, errors: 0 },
        canary: { calls: tally.canary, errors: 0 },
      });
      process.stdout.write(
        `seed ${random.seed}: ${deploys} deploys in ${SECONDS} s, ${tally.live} calls on the live side, ${tally.canary} on the canary\n`,
      );
      // A server that is killed and starts again goes on with it, and so do the hosts.
      const before = (await status()).canary;
      await one.stop('SIGKILL');
      one = await cluster.startServer(one);
      await one.signIn();
      expect((await status()).canary).toEqual(before);
      for (const [token, first] of sides) for (const url of all) expect(await call(url, token)).toBe(first);
      await one.api('POST', '/deploy/abort', {});
      await eventually(async () => {
        for (const url of all) for (const token of tokens) if ((await call(url, token)) !== 'live') return false;
        return true;
      });
    },
    (SECONDS + 120) * 1_000,
  );

  test('two servers watch a canary, and one of them aborts it, once', async () => {
    await one.api('POST', '/deploy', {});
    await settled();
    await one.api('PATCH', `/tools/${probe}`, { sql_query: "select json_extract('{', '$.side') as side" });
    await other.api('POST', '/deploy', {
      canary: { percent: 50, minutes: 10, max_error_rate: 0.1, max_p95_ratio: null, min_calls: 20 },
    });
    const all = await urls();
    await eventually(async () => {
      await Promise.all(tokens.map((token) => call(random.pick(all), token)));
      return (await status(other)).canary?.status === 'aborted';
    });
    expect((await status()).canary?.reason).toContain('Limit passed: 100% of');
    const { items } = await one.api<{ items: Entry[] }>('GET', '/history?entity_type=snapshot&limit=20');
    const named = items.filter(({ entity_name }) => entity_name === items[0]?.entity_name);
    expect(named.map(({ action }) => action)).toEqual(['update', 'create']);
    await eventually(async () => {
      for (const url of all) for (const token of tokens) if ((await call(url, token)) !== 'live') return false;
      return true;
    });
  }, 90_000);
});
