import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type Cluster, startCluster } from '#test/support/cluster.ts';
import { reachable } from '#test/support/databases.ts';
import { joinAs, personBrowser, renew, type Tokens, tokensFor } from '#test/support/person-browser.ts';
import { freePort } from '#test/support/free-port.ts';
import { type Programs, removeFolder, startPrograms } from '#test/support/programs.ts';
import { until } from '#test/support/until.ts';

/** Changes of a person and ended grants, from the REST call to what MCP callers get from hosts that are programs of their own. */
const LIMIT_MS = 120_000;
/** The contract says a second; what is measured is printed, since a busy machine is no fault of ours. */
const ACCOUNT = { username: 'carl', password: 'a long password' };
const PERSON = { username: ACCOUNT.username, role: 'editor', groups: ['hr'] };

/** What is tried, at one server and at any number of hosts. */
interface Installation {
  readonly public_url: string;
  /** Where the administrator works. */
  readonly admin: Programs;
  readonly person: string;
  readonly hosts: readonly string[];
}

/** Tools that a caller sees; null: refused. */
async function toolsOf(host: string, { access_token }: Tokens): Promise<string[] | null> {
  const answer = await fetch(host, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${access_token}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2025-06-18',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
  });
  const text = await answer.text();
  if (answer.status === 401) return null;
  expect(answer.status).toBe(200);
  return [...text.matchAll(/"name":"(\w+)"/g)].map(([, name = '']) => name).sort();
}

interface Change {
  readonly what: string;
  /** Null: every grant of the person is revoked. */
  readonly change: Record<string, unknown> | null;
  /** What the client sees with a renewed token; null: it gets none. */
  readonly sees: readonly string[] | null;
}
const ALL = ['get_customer', 'search_products'];
const CHANGES: readonly Change[] = [
  { what: 'a lowered role', change: { role: 'caller' }, sees: ALL },
  { what: 'changed groups', change: { groups: ['sales'] }, sees: ['search_products'] },
  { what: 'a disabled person', change: { enabled: false }, sees: null },
  { what: 'a revoked grant', change: null, sees: null },
];

/** A person who has a toolset by their group, and another one as everybody. */
async function prepare(admin: Programs): Promise<string> {
  const { items } = await admin.api<{ items: { id: string; name: string }[] }>('GET', '/tools');
  for (const [name, groups, tool] of [
    ['customers', ['hr'], 'get_customer'],
    ['shop', [], 'search_products'],
  ] as const) {
    const tool_ids = items.filter((item) => item.name === tool).map(({ id }) => id);
    const include = { tags: [], connection_ids: [], tool_ids, resource_ids: [], prompt_ids: [] };
    await admin.api('POST', '/toolsets', { name, title: name, description: name, include, groups });
  }
  await admin.api('PATCH', '/server/config', { auth_type: 'oauth' });
  await admin.api('POST', '/deploy', {});
  return joinAs(admin, PERSON, ACCOUNT.password);
}

/** Signs a client in at each host, makes the change, and waits for every host to refuse. Prints how long that took. */
async function reach({ admin, hosts, person, public_url }: Installation, { what, change, sees }: Change): Promise<void> {
  const patch = async (draft: Record<string, unknown>) => {
    const { version } = await admin.api<{ version: number }>('GET', `/people/${person}`);
    await admin.api('PATCH', `/people/${person}`, { ...draft, version });
  };
  await patch({ role: PERSON.role, groups: PERSON.groups, enabled: true });
  const browser = await personBrowser(public_url, ACCOUNT);
  const callers = await Promise.all(hosts.map(async (host) => ({ host, tokens: await tokensFor(public_url, browser, host) })));
  for (const { host, tokens } of callers) {
    // The first key may still be on its way to the host.
    await until(async () => (await toolsOf(host, tokens)) !== null);
    expect(await toolsOf(host, tokens)).toEqual(ALL);
  }
  // Their own page lists the same as every host.
  const { tools } = await browser.read<{ tools: { name: string }[] }>('/home');
  expect(tools.map(({ name }) => name)).toEqual(ALL);

  const { items } = await admin.api<{ items: { id: string }[] }>('GET', '/grants?limit=100');
  const asked = performance.now();
  if (change === null) await Promise.all(items.map(({ id }) => admin.api('DELETE', `/grants/${id}`)));
  else await patch(change);
  const answered = performance.now();
  const refusals = await Promise.all(
    callers.map(async ({ host, tokens }) => {
      const next = await toolsOf(host, tokens);
      await until(async () => (await toolsOf(host, tokens)) === null);
      return { at_once: next === null, at: performance.now() };
    }),
  );
  const last = Math.max(...refusals.map(({ at }) => at));
  const at_once = refusals.filter((refusal) => refusal.at_once).length;
  const [since_request, since_answer] = [last - asked, last - answered].map(Math.round);
  process.stdout.write(
    `${what}: the next call was refused at ${at_once} of ${hosts.length} hosts; all refuse ${since_request} ms after the request, ${since_answer} ms after its answer\n`,
  );
  for (const { host, tokens } of callers) {
    const renewed = await renew(public_url, tokens);
    expect(renewed.status === 200 ? await toolsOf(host, renewed.body) : null).toEqual(sees === null ? null : [...sees]);
  }
}

describe('one server with its host', () => {
  const port = freePort();
  const public_url = `http://127.0.0.1:${port}`;
  let programs: Programs;
  let person: string;
  beforeAll(async () => {
    programs = await startPrograms({ port, env: { SVC_PUBLIC_URL: public_url } });
    await programs.signIn();
    await programs.demo();
    person = await prepare(programs);
    await until(async () => (await fetch(programs.mcp_url, { method: 'POST' })).status === 401);
  }, LIMIT_MS);
  afterAll(async () => {
    await programs?.stop();
    if (programs !== undefined) removeFolder(programs);
  }, LIMIT_MS);

  test.each(CHANGES.map((change) => [change.what, change] as const))(
    '%s reaches it',
    (_, change) => reach({ public_url, admin: programs, person, hosts: [programs.mcp_url] }, change),
    LIMIT_MS,
  );
});

describe.skipIf(!reachable.postgres || !reachable.redis)('two servers on one PostgreSQL and one Redis, with three hosts', () => {
  let cluster: Cluster;
  let person: string;
  let hosts: string[];
  const told = () => cluster.servers.map((server) => server.output().slice(-2_000)).join('\n---\n');
  beforeAll(async () => {
    cluster = await startCluster(9, (balanced) => ({ SVC_PUBLIC_URL: balanced }));
    const first = await cluster.startServer();
    await first.demo();
    const second = await cluster.startServer();
    await first.signIn();
    await second.signIn();
    for (let n = 0; n < 3; n++) cluster.startHost();
    const rows = async () => {
      const { hosts, snapshot_version } = await second.api<{
        hosts: { url: string; snapshot_version: number | null }[];
        snapshot_version: number;
      }>('GET', '/deploy/status');
      return hosts.filter((host) => host.snapshot_version === snapshot_version);
    };
    await until(async () => (await rows()).length === 3, told);
    person = await prepare(first);
    hosts = (await rows()).map(({ url }) => `${url}/mcp`);
    expect(hosts).toHaveLength(3);
    for (const host of hosts) await until(async () => (await fetch(host, { method: 'POST' })).status === 401, told);
    // Each server has a host of its own, or it would be no proof.
    for (const server of cluster.servers) expect(server.output()).toContain('host connected');
  }, LIMIT_MS);
  afterAll(() => cluster?.stop(), LIMIT_MS);

  test.each(
    CHANGES.flatMap((change) =>
      [0, 1].map((server) => [change.what, server === 0 ? 'one' : 'the other', server, change] as const),
    ),
  )(
    '%s at %s server reaches the hosts of both',
    (_, __, server, change) => reach({ public_url: cluster.url, admin: cluster.servers[server]!, person, hosts }, change),
    LIMIT_MS,
  );
});
