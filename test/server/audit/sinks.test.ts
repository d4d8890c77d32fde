import { afterEach, expect, test } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import tls from 'node:tls';
import { gt } from 'drizzle-orm';
import { createAuditSender } from '#core/audit/sinks.ts';
import { writeAudit } from '#core/audit/writer.ts';
import type { AuditEntry } from '#core/contract/observe/audit.ts';
import { sendDue } from '#core/observe/notices/send.ts';
import { runCli } from '#server/cli/program.ts';
import { type TestApp, testApp } from '#test/support/app.ts';
import { createAuthority } from '#test/support/certificates.ts';
import { until } from '#test/support/until.ts';

let t: TestApp;
const open: { stop(): unknown }[] = [];
afterEach(async () => {
  await t.close();
  for (const one of open.splice(0)) await one.stop();
});
const start = async (variables: Record<string, string> = {}, options?: Parameters<typeof testApp>[2]) => {
  t = await testApp(variables, undefined, options);
  await t.signIn();
};
const setting = (server_name: string) => t.call('config.update', { server_name });
const sinks = async () => (await t.call('audit.sinks', {})).items;
const nextHead = async () => {
  t.advance(60_000);
  await writeAudit(t.app);
};

/** A syslog server that counts octets, as RFC 5425 says. @returns the messages that arrived. */
async function syslogServer(certificate?: { cert: string; key: string }) {
  const messages: string[] = [];
  const faults: string[] = [];
  const accept = (socket: net.Socket) => {
    let buffer = Buffer.alloc(0);
    socket.on('error', () => undefined);
    socket.on('data', (chunk: Buffer) => {
      buffer = Buffer.concat([buffer, chunk]);
      for (;;) {
        const [, digits = ''] = /^(\d+) /.exec(buffer.toString('latin1')) ?? [];
        const from = digits.length + 1;
        const size = Number(digits);
        if (digits === '' || buffer.length < from + size) break;
        messages.push(buffer.subarray(from, from + size).toString());
        buffer = buffer.subarray(from + size);
      }
    });
    socket.on('end', () => {
      if (buffer.length > 0) faults.push('a frame was cut off');
      socket.end();
    });
  };
  const server = certificate === undefined ? net.createServer(accept) : tls.createServer(certificate, accept);
  server.on('tlsClientError', () => undefined);
  await new Promise<void>((done) => void server.listen(0, '127.0.0.1', done));
  open.push({ stop: () => server.close() });
  return { messages, faults, port: (server.address() as net.AddressInfo).port };
}

const FRAME = /^<110>1 (\S+) \S+ sluice \d+ (audit|audit_head) \[sluice@32473 seq="(\d+)"\] \ufeff(\{.*\})$/s;
const contentOf = (message: string | undefined) => JSON.parse(FRAME.exec(message ?? '')?.[4] ?? 'null') as AuditEntry;

test('entries and heads reach a syslog server over TLS, in order and once, and wait while it is down', async () => {
  const authority = await createAuthority('logs');
  open.push({ stop: () => authority.remove() });
  await start();
  const server = await syslogServer(await authority.issue('IP:127.0.0.1'));
  const send = createAuditSender(t.app);
  const address = { host: '127.0.0.1', port: server.port };
  await t.call('config.update', { audit_syslog: { ...address, ca: authority.ca } });
  await writeAudit(t.app);
  await send();
  await setting('Täglich');
  await nextHead();
  await send();
  await until(() => server.messages.length === 2);
  const parsed = server.messages.map((message) => FRAME.exec(message));
  expect(parsed.map((found) => found?.[2])).toEqual(['audit', 'audit_head']);
  const entry = contentOf(server.messages[0]);
  expect((await t.call('audit.list', { limit: 1 })).items).toEqual([entry]);
  expect(parsed[0]?.[3]).toBe(String(entry.seq));
  // What a head outside says is what verify takes.
  const head = JSON.parse(parsed[1]?.[4] ?? '') as { jws: string };
  expect(await t.call('audit.verify', { heads: [head] })).toMatchObject({ ok: true });
  expect(await sinks()).toMatchObject([{ name: 'syslog', waiting: 0, error: null }]);
  // A certificate of nobody known: nothing is sent, and the reason is shown.
  await t.call('config.update', { audit_syslog: address });
  await writeAudit(t.app);
  await createAuditSender(t.app)();
  expect(await sinks()).toMatchObject([{ error: expect.stringContaining('not signed by a trusted authority') }]);
  await t.call('config.update', { audit_syslog: { ...address, ca: authority.ca, format: 'ocsf' } });
  await writeAudit(t.app);
  await createAuditSender(t.app)();
  await until(() => server.messages.length >= 4);
  expect(contentOf(server.messages[2])).toMatchObject({ class_uid: 6003, unmapped: { kind: 'setting' } });
  expect(server.faults).toEqual([]);
  await t.call('config.update', { audit_syslog: null });
  await createAuditSender(t.app)();
  expect(await sinks()).toEqual([]);
});

test('a syslog server at an address that connections may not reach is refused', async () => {
  await start({ SVC_ALLOW_PRIVATE_NETWORKS: 'false' });
  for (const host of ['127.0.0.1', '10.0.0.1', '169.254.169.254', '::1']) {
    const { status, body } = await t.send('config.update', { audit_syslog: { host } });
    expect([host, status, body.code]).toEqual([host, 422, 'private_network_blocked']);
  }
  for (const host of ['', 'a b', 'https://logs.example.com', 'logs.example.com/x'])
    expect((await t.send('config.update', { audit_syslog: { host } })).status).toBe(422);
  expect((await t.call('config.get', {})).audit_syslog).toBeNull();
});

test('entries and heads reach a collector over OTLP, and are sent again after a failure', async () => {
  const received: { path: string; key: string | null; encoding: string | null; body: Otlp }[] = [];
  let failing = false;
  const collector = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      if (failing) return new Response('busy', { status: 503 });
      received.push({
        path: new URL(request.url).pathname,
        key: request.headers.get('x-key'),
        encoding: request.headers.get('content-encoding'),
        body: JSON.parse(Buffer.from(Bun.gunzipSync(await request.arrayBuffer())).toString()) as Otlp,
      });
      return Response.json({});
    },
  });
  open.push({ stop: () => collector.stop(true) });
  await start({
    SVC_OTLP_ENDPOINT: `http://127.0.0.1:${collector.port}/v1/traces`,
    SVC_OTLP_HEADERS: 'x-key=abc',
    SVC_OTLP_COMPRESSION: 'gzip',
  });
  await t.call('config.update', { audit_otlp: true });
  await writeAudit(t.app);
  await createAuditSender(t.app)();
  failing = true;
  await setting('A');
  await nextHead();
  await createAuditSender(t.app)();
  expect(await sinks()).toMatchObject([{ name: 'otlp', waiting: 1, error: 'The collector answered 503.' }]);
  failing = false;
  await createAuditSender(t.app)();
  expect(received.map(({ path, key, encoding }) => [path, key, encoding])).toEqual([['/v1/logs', 'abc', 'gzip']]);
  const records = received.flatMap(({ body }) => body.resourceLogs[0]?.scopeLogs[0]?.logRecords ?? []);
  expect(records.map(({ eventName }) => eventName)).toEqual(['sluice.audit', 'sluice.audit_head']);
  const [entry] = (await t.call('audit.list', { limit: 1 })).items;
  expect(JSON.parse(records[0]?.body.stringValue ?? '')).toEqual(entry);
  expect(await sinks()).toMatchObject([{ waiting: 0, error: null }]);
});

interface Otlp {
  readonly resourceLogs: readonly {
    readonly scopeLogs: readonly {
      readonly logRecords: readonly { readonly eventName: string; readonly body: { readonly stringValue: string } }[];
    }[];
  }[];
}

test('the log cannot be sent over OTLP without a collector', async () => {
  await start();
  const { status, body } = await t.send('config.update', { audit_otlp: true });
  expect([status, body.detail]).toEqual([422, 'audit_otlp needs a collector: set SVC_OTLP_ENDPOINT of the server.']);
});

test('a webhook receives each signed head, once a minute with new entries, and people see no notice of it', async () => {
  const received: { type: string; data: { jws: string; seq: number; type: string } }[] = [];
  const hook = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      received.push((await request.json()) as (typeof received)[number]);
      return new Response('ok');
    },
  });
  open.push({ stop: () => hook.stop(true) });
  await start();
  await t.call('notices.create', { name: 'vault', url: `http://127.0.0.1:${hook.port}/`, events: ['audit_head'] });
  await nextHead();
  await nextHead();
  await setting('A');
  await setting('B');
  await nextHead();
  await sendDue(t.app);
  expect(received.map(({ type, data }) => [type, data.type])).toEqual([
    ['audit_head', 'head'],
    ['audit_head', 'head'],
  ]);
  const jws = received.map(({ data }) => data.jws);
  expect(await t.call('audit.verify', { heads: jws })).toMatchObject({ ok: true, heads: 2 });
  expect((await t.call('notices.events', {})).items).toEqual([]);
});

test('the command line verifies the log with heads from a file and exports it', async () => {
  const secret = 'a-secret-a-secret-a-secret-a-secret';
  const secrets = { SVC_ENCRYPTION_KEY: secret, SVC_JWT_SECRET: secret, SVC_AGENT_SERVICE_TOKEN: secret };
  // The command reads the file of the embedded database.
  await start(secrets, { metadata: 'sqlite' });
  const environment = { SVC_ENV: 'dev', SVC_KV: 'memory', ...secrets, SVC_DATA_DIR: t.directory };
  const cli = async (...args: string[]) => {
    let [out, err] = ['', ''];
    const code = await runCli(args, {
      environment,
      stdin: Readable.from(['']),
      out: (text) => void (out += text),
      err: (text) => void (err += text),
    });
    return { code, out, err };
  };
  await setting('A');
  await nextHead();
  const folder = mkdtempSync(join(tmpdir(), 'sluice-heads-'));
  open.push({ stop: () => rmSync(folder, { recursive: true }) });
  const file = join(folder, 'heads.txt');
  writeFileSync(file, `received ${(await t.call('audit.heads', {})).items[0]?.jws}\n`);
  expect(await cli('audit', 'verify')).toMatchObject({ code: 0, out: expect.stringContaining('Without --heads') });
  const verified = await cli('audit', 'verify', '--heads', file);
  expect(verified).toMatchObject({ code: 0, err: '' });
  expect(verified.out).toMatch(/^Entries checked: \d+ \(1 to \d+\), 0 of them without contents\. Heads compared: 1\.\n/);
  const { code, out } = await cli('audit', 'export');
  const lines = out.trimEnd().split('\n');
  expect([code, contentOfLine(lines.at(-1)).actor.name]).toEqual([0, 'command line']);
  expect((await cli('audit', 'export', '--format', 'ocsf')).out).toContain('"class_uid":6003');
  const { audit_entries, audit_heads } = t.app.store.tables;
  await t.app.store.write(async (tx) => {
    await tx.delete(audit_entries).where(gt(audit_entries.seq, 1));
    await tx.delete(audit_heads);
  });
  expect((await cli('audit', 'verify')).code).toBe(0);
  expect(await cli('audit', 'verify', '--heads', file)).toMatchObject({
    code: 2,
    err: expect.stringContaining('First bad entry: 2.'),
  });
  writeFileSync(file, 'nothing');
  expect((await cli('audit', 'verify', '--heads', file)).code).toBe(1);
  for (const line of [['audit'], ['audit', 'lose'], ['audit', 'export', '--format', 'csv'], ['audit', 'export', '--heads', file]])
    expect((await cli(...line)).code).toBe(64);
});

const contentOfLine = (line: string | undefined) => JSON.parse(line ?? 'null') as AuditEntry;
