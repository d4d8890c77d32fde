import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { writeCertificate } from '#core/server-config/certificates.ts';
import { BACKUP_AT, writeMeta } from '#core/store/meta.ts';
import { createHostWatch } from '#core/observe/notices/watch-hosts.ts';
import { connection, modern, snapshotOf, TOKEN, toolOf } from '#test/mcp-host/support.ts';
import { useHost } from '#test/mcp-host/use-host.ts';
import { type TestApp, testApp } from '#test/support/app.ts';
import { connectHost } from '#test/support/host.ts';
import { faultsOf, firing, promtool, type Scrapes } from '#test/support/promtool.ts';
import { smallDisk } from '#test/support/small-disk.ts';
import { sqliteConnection } from '#test/support/sqlite-connection.ts';
import { until } from '#test/support/until.ts';

const RULES = join(import.meta.dir, '../../../docs/alerts.yaml');
const DAY_MS = 24 * 3_600_000;

interface Rule {
  readonly alert: string;
  readonly expr: string;
}
const { groups } = parse(readFileSync(RULES, 'utf8')) as { groups: { rules: Rule[] }[] };
const rules = groups.flatMap((group) => group.rules);
const ALERTS = rules.map(({ alert }) => alert);
/** The metrics that the alerts use; labels and durations are in brackets. */
const NAMES = new Set(rules.flatMap(({ expr }) => expr.replaceAll(/\{[^}]*\}/g, '').match(/\bsluice_\w+/g) ?? []));

const disk = smallDisk(4);
const shop = { ...connection, max_concurrency: 1, queue_limit: 0 };
const SLOW = 'with recursive n (i) as (select 1 union all select i + 1 from n where i < 3000000) select count(*) as found from n';
const tools = [toolOf(shop, 'slow', SLOW), toolOf(shop, 'broken', 'select nothing from nowhere')];
const { control, host } = useHost('all', disk === null ? {} : { folder: disk.folder });

let t: TestApp;
beforeAll(async () => {
  t = await testApp({ SVC_ALLOW_PRIVATE_NETWORKS: 'true' });
});
afterAll(async () => {
  await t.close();
  disk?.remove();
});

const ofServer = async (): Promise<string> => {
  const headers = { 'x-service-token': t.app.env.SVC_AGENT_SERVICE_TOKEN };
  return String((await t.request('GET', '/metrics', { headers, anonymous: true })).body['text']);
};
const ofHost = async (): Promise<string> =>
  (await fetch(new URL('/metrics', host.mcp), { headers: { 'x-service-token': TOKEN } })).text();

/** An installation that is well, and then everything that the alerts are about. */
describe('the alerts of docs/alerts.yaml', () => {
  let scrapes: Scrapes[] = [];
  let printed = '';

  beforeAll(async () => {
    await t.signIn();
    const now = () => t.app.clock().getTime();
    const iso = (ms: number) => new Date(now() + ms).toISOString();
    await writeCertificate(t.app, { valid_until: iso(60 * DAY_MS) });
    await t.app.store.write((tx) => writeMeta(t.app.store, tx, BACKUP_AT, iso(-3_600_000)));
    const connection_id = await sqliteConnection(t, 'create table products (id integer primary key)');
    const one = { connection_id, name: 'one', description: 'One', sql_query: 'select 1 as one' };
    const leave = connectHost(t.app, 'web-00000001');
    await t.call('tools.create', one);
    await t.call('deploy.run', {});
    await control.deploy(snapshotOf(1, { connections: [shop], tools }));
    await modern(host.mcp, 'tools/call', { name: 'slow' });
    const times = { server: now() / 1_000, host: Date.now() / 1_000 };
    const before = { server: await ofServer(), host: await ofHost() };

    // The queue of one slot, a tool that fails, a full disk.
    await Promise.all([1, 2, 3].map(() => modern(host.mcp, 'tools/call', { name: 'slow' })));
    for (let n = 0; n < 5; n++) await modern(host.mcp, 'tools/call', { name: 'broken' });
    disk?.fill();
    // A host that is lost, one that does not take the version, a webhook that nobody receives.
    const look = createHostWatch(t.app);
    await look();
    leave();
    t.app.hosts.connect('db-00000002', () => undefined);
    await t.call('notices.create', { name: 'Chat', url: 'http://127.0.0.1:1/', events: ['host_gone'] });
    t.advance(40_000);
    await look();
    // Tokens, sign-ins, the certificate and the backup.
    await t.call('agent_tokens.create', { name: 'Agent', duration_minutes: 7 * 24 * 60, scopes: ['read'] });
    for (let n = 0; n < 30; n++) {
      const body = { username: 'ada', password: `wrong ${n}` };
      await t.request('POST', '/api/v1/auth/login', { body, anonymous: true });
    }
    await writeCertificate(t.app, { valid_until: iso(16 * DAY_MS) });
    t.advance(6 * DAY_MS);
    const after = { server: await ofServer(), host: await ofHost() };
    scrapes = [
      { instance: 'server', before: before.server, after: after.server, times: [times.server, now() / 1_000] },
      { instance: 'host', before: before.host, after: after.host, times: [times.host, Date.now() / 1_000] },
    ];
    printed = Object.values(before).concat(Object.values(after)).join('');
    await until(() => printed.length > 0);
  }, 60_000);

  test('are ten, and use only metrics that server and host print, also while all is well', () => {
    expect(ALERTS).toHaveLength(10);
    const first = scrapes.map(({ before }) => before).join('');
    const known = new Set([...first.matchAll(/^# TYPE (\w+) /gm)].map(([, name = '']) => name));
    expect([...NAMES].filter((name) => !known.has(name))).toEqual([]);
  });

  test('find what they are about in what the programs print', () => {
    const value = (pattern: string) =>
      Number(new RegExp(`^${pattern} (\\S+)$`, 'm').exec(scrapes.map(({ after }) => after).join(''))?.[1]);
    const open = value('sluice_notices_open\\{event="host_gone"\\}');
    const rejected = value('sluice_queue_rejected_total\\{connection="shop"\\}');
    const failed = value('sluice_calls_total\\{kind="tool",name="broken",outcome="tool_error"\\}');
    expect({ open, rejected: rejected > 0, failed }).toEqual({ open: 1, rejected: true, failed: 5 });
    expect(value('sluice_hosts_behind')).toBe(1);
    expect(value('sluice_tokens_ending\\{kind="agent"\\}')).toBe(1);
    expect(value('sluice_webhook_oldest_waiting_seconds')).toBeGreaterThan(900);
  });

  test.skipIf(promtool === null)('are rules that Prometheus accepts (needs promtool)', () => {
    expect(faultsOf(RULES)).toBe('');
  });

  test.skipIf(promtool === null)(
    'fire on what the programs print, and not while all is well (needs promtool)',
    () => {
      // The disk of this machine, or of a test without one of its own, may be full.
      const alerts = disk === null ? ALERTS.filter((alert) => alert !== 'SluiceDiskFull') : ALERTS;
      expect(firing(RULES, alerts, NAMES, scrapes)).toEqual(alerts);
      const well = scrapes.map(({ before, times, ...one }) => ({
        ...one,
        before,
        after: before,
        times: [times[0], times[0]] as const,
      }));
      expect(firing(RULES, ALERTS, NAMES, well).filter((alert) => alert !== 'SluiceDiskFull')).toEqual([]);
    },
    60_000,
  );
});
