import { expect } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as v from 'valibot';
import { LOGGED_ARGUMENTS, LONGEST_SEALED } from '#core/contract/observe/logged-arguments.ts';
import { UsageBatch } from '#core/contract/observe/usage-batch.ts';
import { storeUsage } from '#core/observe/usage.ts';
import { createSealing } from '#core/lib/sealing.ts';
import { pruneAudit } from '#core/audit/prune.ts';
import { createAuditSender } from '#core/audit/sinks.ts';
import { toBatch } from '#test/support/usage.ts';
import { checkDriftWhenDue } from '#core/deploy/checks/drift.ts';
import type { TestApp } from '#test/support/app.ts';
import { until } from '#test/support/until.ts';

type Field =
  | 'secret_refs'
  | 'min_protocol_version'
  | 'secret_ref_ttl_seconds'
  | 'lint_off'
  | 'drift_check_minutes'
  | 'replay_samples'
  | 'files_expire_minutes'
  | 'files_max_rows'
  | 'files_max_bytes'
  | 'files_slots'
  | 'log_arguments_hours'
  | 'audit_retention_days'
  | 'audit_syslog'
  | 'audit_otlp'
  | 'undeclared_arguments';

/** What a host does with it: test/mcp-host/call/files. */
async function reachesSnapshot(
  t: TestApp,
  patch: (body: object) => Promise<unknown>,
  name: string,
  value: number,
): Promise<void> {
  const frozen = async (): Promise<unknown> => {
    const { snapshot_version } = await t.call('deploy.run', {});
    const { content } = await t.call('snapshots.get', { version: Number(snapshot_version) });
    return (content as { server: Readonly<Record<string, unknown>> }).server[name];
  };
  const { [name]: usual } = (await t.call('config.get', {})) as unknown as Readonly<Record<string, unknown>>;
  expect(await frozen()).toBeUndefined();
  await patch({ [name]: value });
  expect(await frozen()).toBe(value);
  await patch({ [name]: usual });
}

/** What each setting of the checks of definitions does. */
export const checkEffects = (
  app: () => TestApp,
  patch: (body: object) => Promise<unknown>,
): Record<Field, () => Promise<void>> => ({
  async secret_refs() {
    const body = { name: 'by_ref', db_type: 'postgresql', host: '127.0.0.1', port: 1, database: 'x', username: 'x' } as const;
    const create = () => app().send('connections.create', { ...body, password: { ref: 'env:SHOP' } });
    expect((await create()).status).toBe(422);
    await patch({ secret_refs: ['env:SHOP'] });
    const { status, body: made } = await create();
    expect(status).toBe(201);
    await app().call('connections.delete', { id: made.id });
    await patch({ secret_refs: [] });
  },
  async secret_ref_ttl_seconds() {
    const t = app();
    const folder = mkdtempSync(join(tmpdir(), 'sluice-ttl-'));
    const path = join(folder, 'secret');
    const read = () => t.app.secrets.resolve(`file:${path}`);
    writeFileSync(path, 'first');
    expect(await read()).toBe('first');
    writeFileSync(path, 'second');
    expect(await read()).toBe('first');
    await patch({ secret_ref_ttl_seconds: 1 });
    await until(async () => (await read()) === 'second');
    // What a host does with it: test/core/process/secret-refs/secret-refs.test.ts.
    await patch({ secret_ref_ttl_seconds: 300 });
    rmSync(folder, { recursive: true });
  },
  async lint_off() {
    await patch({ lint_off: ['select-star'] });
    const answer = await app().call('lint.rules', {});
    const off = (answer.items as { rule: string; enabled: boolean }[]).filter(({ enabled }) => !enabled);
    expect(off.map(({ rule }) => rule)).toEqual(['select-star']);
    await patch({ lint_off: [] });
  },
  async drift_check_minutes() {
    const t = app();
    await t.call('deploy.run', {});
    await t.call('drift.check', {});
    await patch({ drift_check_minutes: 0 });
    t.advance(120_000);
    expect(await checkDriftWhenDue(t.app)).toBe(false);
    await patch({ drift_check_minutes: 2 });
    expect(await checkDriftWhenDue(t.app)).toBe(true);
    await patch({ drift_check_minutes: 60 });
  },
  async audit_retention_days() {
    const t = app();
    await t.call('config.update', { server_name: 'Old' });
    await t.call('audit.list', {});
    t.advance(2 * 24 * 3_600_000);
    await t.signIn();
    const oldest = async () => {
      await pruneAudit(t.app);
      return (await t.call('audit.list', { after: 0, limit: 1 })).items[0]?.at ?? '';
    };
    const before = await oldest();
    const days = { change: 1, deploy: 1, call: 1, refusal: 1, sign_in: 1, approval: 1, export: 1, setting: 1 };
    await patch({ audit_retention_days: days });
    expect((await oldest()) > before).toBe(true);
    await patch({ audit_retention_days: Object.fromEntries(Object.keys(days).map((kind) => [kind, 365])) });
  },
  async audit_syslog() {
    // What is sent: test/server/audit/sinks.test.ts.
    await patch({ audit_syslog: { host: '127.0.0.1', port: 1, tls: false } });
    await createAuditSender(app().app)();
    expect((await app().call('audit.sinks', {})).items).toMatchObject([{ name: 'syslog' }]);
    await patch({ audit_syslog: null });
    await createAuditSender(app().app)();
    expect((await app().call('audit.sinks', {})).items).toEqual([]);
  },
  async audit_otlp() {
    // With a collector: test/server/audit/sinks.test.ts.
    expect(await patch({ audit_otlp: true })).toMatchObject({ status: 422 });
    await patch({ audit_otlp: false });
  },
  async log_arguments_hours() {
    const t = app();
    const logged = { called: 'orders', arguments: {}, masked: [], left_out: [] };
    const sealed = createSealing(t.app.env.SVC_ENCRYPTION_KEY, LOGGED_ARGUMENTS, LONGEST_SEALED).seal(logged);
    const timestamp = t.app.clock().toISOString();
    const call = {
      kind: 'tool',
      name: 'orders',
      timestamp,
      duration_ms: 1,
      wait_ms: 0,
      rows: 0,
      bytes: 0,
      arguments: sealed,
    } as const;
    const batch = v.parse(UsageBatch, { boot_id: 'arguments', seq: 1, ...toBatch([call]) });
    await storeUsage(t.app, 'h1', batch);
    const state = async () => {
      const { items } = await t.call('logs.list', { name: 'orders' });
      return (await t.call('logs.get', { call_id: items[0]?.id ?? '' })).arguments_state;
    };
    await patch({ log_arguments_hours: 1 });
    expect(await state()).toBe('logged');
    t.advance(3_600_001);
    expect(await state()).toBe('removed');
    await patch({ log_arguments_hours: 2 });
    expect(await state()).toBe('logged');
    await patch({ log_arguments_hours: 24 });
  },
  async undeclared_arguments() {
    const gate = async (value: string) => {
      await patch({ undeclared_arguments: value });
      return JSON.stringify(await app().call('deploy.run', { dry_run: true }));
    };
    await app().call('deploy.run', {});
    // What a host does with it: test/mcp-host/call/argument-work.test.ts.
    expect(await gate('refuse')).toContain('Tools that read now reject arguments');
    await app().call('deploy.run', {});
    expect(await gate('answer')).not.toContain('reject arguments');
    await app().call('deploy.run', {});
  },
  async min_protocol_version() {
    const gate = async (value: string) => {
      await patch({ min_protocol_version: value });
      return JSON.stringify(await app().call('deploy.run', { dry_run: true }));
    };
    await app().call('deploy.run', {});
    // What a host does with it: test/mcp-host/protocol/least-version.test.ts.
    expect(await gate('2025-06-18')).toContain('Clients that speak an older MCP version than 2025-06-18 are refused.');
    await app().call('deploy.run', {});
    expect(await gate('2024-11-05')).not.toContain('older MCP version');
    await app().call('deploy.run', {});
  },
  files_expire_minutes: () => reachesSnapshot(app(), patch, 'files_expire_minutes', 30),
  files_max_rows: () => reachesSnapshot(app(), patch, 'files_max_rows', 10),
  files_max_bytes: () => reachesSnapshot(app(), patch, 'files_max_bytes', 1_048_576),
  files_slots: () => reachesSnapshot(app(), patch, 'files_slots', 2),
  async replay_samples() {
    const t = app();
    const replay = () => t.send('replay.run', { version: 1 });
    await t.call('deploy.run', {});
    expect((await replay()).status).toBe(409);
    await patch({ replay_samples: 10 });
    // Hosts follow what is deployed.
    expect((await replay()).status).toBe(409);
    await t.call('deploy.run', {});
    expect((await replay()).status).toBe(200);
    await patch({ replay_samples: 0 });
    await t.call('deploy.run', {});
  },
});
