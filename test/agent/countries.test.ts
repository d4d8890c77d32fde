import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseEnv } from '#core/process/env.ts';
import { createLog, type LogLine } from '#core/process/log.ts';
import { type Countries, createCountries } from '#core/observe/countries.ts';
import { dialPolicy } from '#core/engines/shared/policy.ts';
import { type ListeningAgent, listeningAgent } from '#test/support/agent.ts';
import { freePort } from '#test/support/free-port.ts';
import { until } from '#test/support/until.ts';

const INSTALLED = fileURLToPath(
  new URL('../../node_modules/@ip-location-db/geo-whois-asn-country-mmdb/geo-whois-asn-country.mmdb', import.meta.url),
);
const KEY = 'canary-licence-key';
const GOOGLE = '8.8.8.8';

const directory = mkdtempSync(join(tmpdir(), 'sluice-countries-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));
const opened: Countries[] = [];
afterEach(async () => {
  for (const each of opened.splice(0)) await each.close();
});

let folders = 0;
/** Countries of an installation with these settings, its data folder, and its log. */
function countries(variables: Record<string, string>, more: { maxmind_url?: string; now?: () => number } = {}) {
  const folder = join(directory, `data${folders++}`);
  mkdirSync(folder);
  const secret = { SVC_ENV: 'dev', SVC_KV: 'memory', SVC_ENCRYPTION_KEY: 'x', SVC_JWT_SECRET: 'x', SVC_AGENT_SERVICE_TOKEN: 'x' };
  const { env } = parseEnv('server', { ...secret, SVC_DATA_DIR: folder, SVC_ALLOW_PRIVATE_NETWORKS: 'true', ...variables });
  const lines: LogLine[] = [];
  const made = createCountries({
    env,
    log: createLog('DEBUG', (line) => lines.push(line)),
    policy: dialPolicy(env),
    clock: () => new Date(more.now?.() ?? Date.now()),
    ...(more.maxmind_url === undefined ? {} : { maxmind_url: more.maxmind_url }),
  });
  opened.push(made);
  return { of: (address: string | null) => made.of(address), lines, kept: join(folder, 'geoip', 'GeoLite2-Country.mmdb') };
}

describe('with the data that is installed', () => {
  test('public addresses have a country, others have none', async () => {
    const { of, lines } = countries({});
    for (const address of [GOOGLE, '::ffff:8.8.8.8', '2001:4860:4860::8888'])
      expect([address, await of(address)]).toEqual([address, 'US']);
    expect(await of('81.2.69.142')).toBe('GB');
    const none = [
      '127.0.0.1',
      '10.1.2.3',
      '192.168.1.1',
      '172.16.0.9',
      '169.254.1.1',
      '::1',
      'fd00::1',
      '192.0.2.1',
      'nonsense',
      '',
      null,
    ];
    for (const address of none) expect([address, await of(address)]).toEqual([address, null]);
    expect(lines).toEqual([]);
  });

  test('nothing is read before the first public address is asked for', async () => {
    const script = `
      import { createCountries } from '#core/observe/countries.ts';
      const countries = createCountries({ env: { SVC_GEOIP_SOURCE: 'generic', SVC_MAXMIND_LICENSE_KEY: null, SVC_DATA_DIR: '.' }, log: null, policy: null, clock: () => new Date() });
      const held = () => process.memoryUsage().arrayBuffers;
      const before = held();
      await countries.of('127.0.0.1');
      const idle = held() - before;
      await countries.of('8.8.8.8');
      console.log(JSON.stringify({ idle, open: held() - before }));`;
    const cwd = fileURLToPath(new URL('../..', import.meta.url));
    const child = Bun.spawn([process.execPath, '-e', script], { cwd, stdout: 'pipe', stderr: 'inherit' });
    const { idle, open } = (await new Response(child.stdout).json()) as { idle: number; open: number };
    expect(idle).toBeLessThan(1_000_000);
    expect(open).toBeGreaterThan(7_000_000);
    expect(open).toBeLessThan(12_000_000);
  });
});

describe('SVC_GEOIP_SOURCE', () => {
  test('names a file of one’s own; one that is none is said to be none, and nothing fails', async () => {
    const file = join(directory, 'own.mmdb');
    copyFileSync(INSTALLED, file);
    expect(await countries({ SVC_GEOIP_SOURCE: file }).of(GOOGLE)).toBe('US');
    writeFileSync(file, 'no database');
    for (const path of [file, join(directory, 'missing.mmdb')]) {
      const { of, lines } = countries({ SVC_GEOIP_SOURCE: path });
      expect([await of(GOOGLE), await of(GOOGLE)]).toEqual([null, null]);
      expect(lines).toMatchObject([{ level: 'WARNING', fields: { reason: expect.stringContaining('SVC_GEOIP_SOURCE') } }]);
    }
  });

  test('maxmind needs the key, and a word that is none is refused', () => {
    const start = (variables: Record<string, string>) => () => countries(variables);
    expect(start({ SVC_GEOIP_SOURCE: 'maxmind' })).toThrow('SVC_MAXMIND_LICENSE_KEY is required');
    expect(start({ SVC_GEOIP_SOURCE: 'elsewhere' })).toThrow('SVC_GEOIP_SOURCE must be');
  });
});

/** What stands in for MaxMind: it sends on to its store, as MaxMind does, and takes one key. */
function maxmind() {
  const asked: string[] = [];
  const archive = join(directory, 'GeoLite2.tar.gz');
  if (!existsSync(archive)) {
    const folder = join(directory, 'GeoLite2-Country_20261120');
    mkdirSync(folder);
    writeFileSync(join(folder, 'LICENSE.txt'), 'A text that is not a multiple of a block.');
    copyFileSync(INSTALLED, join(folder, 'GeoLite2-Country.mmdb'));
    Bun.spawnSync(['tar', '-czf', archive, '-C', directory, 'GeoLite2-Country_20261120']);
  }
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch(request) {
      const { pathname, searchParams } = new URL(request.url);
      asked.push(pathname);
      if (pathname === '/store') return new Response(Bun.file(archive));
      if (searchParams.get('license_key') === 'away') return Response.redirect('https://elsewhere.example/store', 302);
      if (searchParams.get('license_key') === 'broken') return new Response('no archive');
      if (searchParams.get('license_key') !== KEY) return new Response('Invalid license key', { status: 401 });
      return new Response(null, { status: 302, headers: { location: '/store' } });
    },
  });
  return { asked, url: `http://127.0.0.1:${server.port}/app/geoip_download`, stop: () => server.stop(true) };
}

describe('the database of MaxMind', () => {
  let service: ReturnType<typeof maxmind>;
  beforeAll(() => {
    service = maxmind();
  });
  afterAll(() => service.stop());
  const using = (key: string, more: object = {}) =>
    countries({ SVC_GEOIP_SOURCE: 'maxmind', SVC_MAXMIND_LICENSE_KEY: key }, { maxmind_url: service.url, ...more });
  const said = (lines: readonly LogLine[]) => lines.map(({ message }) => message);

  test('is downloaded behind the first call, which does not wait for it, and again after a week', async () => {
    let now = Date.now();
    const { of, lines, kept } = using(KEY, { now: () => now });
    expect(await of(GOOGLE)).toBe('US');
    await until(() => said(lines).includes('country database downloaded'));
    expect(readFileSync(kept).equals(readFileSync(INSTALLED))).toBe(true);
    expect(await of(GOOGLE)).toBe('US');
    now += 2 * 3_600_000;
    expect(await of(GOOGLE)).toBe('US');
    expect(service.asked).toEqual(['/app/geoip_download', '/store']);
    now += 7 * 24 * 3_600_000;
    await of(GOOGLE);
    await until(() => lines.length === 2);
    expect(service.asked).toHaveLength(4);
    expect(JSON.stringify(lines)).not.toContain(KEY);
  });

  test('that cannot be had is said with what to look after, and calls go on with the installed data', async () => {
    const cases: [ReturnType<typeof countries>, string][] = [
      [using('wrong'), 'Check SVC_MAXMIND_LICENSE_KEY'],
      [using('away'), 'redirected to an address'],
      [using('broken'), 'cannot be unpacked'],
      [using(KEY, { maxmind_url: `http://127.0.0.1:${freePort()}/` }), 'cannot be reached. Check the network'],
      [
        countries(
          { SVC_GEOIP_SOURCE: 'maxmind', SVC_MAXMIND_LICENSE_KEY: KEY, SVC_ALLOW_PRIVATE_NETWORKS: 'false' },
          { maxmind_url: service.url },
        ),
        'SVC_ALLOW_PRIVATE_NETWORKS',
      ],
    ];
    for (const [{ of, lines, kept }, reason] of cases) {
      expect([reason, await of(GOOGLE)]).toEqual([reason, 'US']);
      await until(() => lines.length > 0);
      expect(lines).toMatchObject([{ level: 'WARNING', fields: { reason: expect.stringContaining(reason) } }]);
      expect(JSON.stringify(lines)).not.toContain(KEY);
      expect([existsSync(kept), await of(GOOGLE), lines.length]).toEqual([false, 'US', 1]);
    }
  });
});

describe('the activity', () => {
  let a: ListeningAgent;
  beforeAll(async () => {
    a = await listeningAgent({ SVC_TRUSTED_PROXIES: '127.0.0.1' });
  });
  afterAll(() => a.stop());

  test('names the country of the client, through either port and over REST', async () => {
    const headers = { authorization: `Bearer ${await a.token()}`, 'x-forwarded-for': GOOGLE };
    const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'get_deploy_status', arguments: {} } };
    for (const base of [a.s.url, a.url]) {
      const answer = await fetch(`${base}/agent-mcp/mcp`, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
        body: JSON.stringify(call),
      });
      expect(answer.status).toBe(200);
    }
    expect((await fetch(`${a.s.url}/api/v1/tools`, { headers })).status).toBe(200);
    const { items } = await a.s.call('agent_activity.list', {});
    expect(items).toHaveLength(3);
    for (const item of items) expect(item).toMatchObject({ client_ip: GOOGLE, country: 'US' });
    const stats = await a.s.call('agent_activity.stats', {});
    expect(stats).toMatchObject({ calls: 3, errors: 0, countries: [{ country: 'US', calls: 3 }] });
  });
});
