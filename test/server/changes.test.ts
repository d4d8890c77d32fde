import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test';
import { Hono } from 'hono';
import { addChanges, CHANGES_PATH } from '#server/hosts/changes.ts';
import type { ServerEnv } from '#server/request/server-env.ts';
import { type SocketOwner, socketHandler } from '#server/request/sockets.ts';
import { type ListeningServer, listeningServer } from '#test/support/server.ts';
import { toBatch } from '#test/support/usage.ts';
import { until } from '#test/support/until.ts';

let s: ListeningServer;
let cookie: string;
beforeAll(async () => {
  s = await listeningServer();
  cookie = await s.signIn();
});
afterAll(() => s.stop());

const open: WebSocket[] = [];
afterEach(() => {
  for (const socket of open.splice(0)) socket.close();
});

/** What a page hears, from its first message on. */
async function follow(url = s.url, headers: object = { cookie }) {
  const heard: string[] = [];
  const socket = new WebSocket(`${url.replace('http', 'ws')}${CHANGES_PATH}`, { headers } as unknown as string[]);
  let began = false;
  socket.addEventListener('message', ({ data }) => {
    const message = JSON.parse(String(data)) as { began?: true; changed?: string[] };
    began ||= message.began === true;
    heard.push(...(message.changed ?? []));
  });
  open.push(socket);
  await until(() => began);
  return { heard, socket };
}

const upgrade = (headers: Record<string, string>) =>
  fetch(`${s.url}${CHANGES_PATH}`, {
    headers: {
      connection: 'upgrade',
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
      ...headers,
    },
  });
const CALL = {
  timestamp: new Date().toISOString(),
  kind: 'tool',
  name: 'busy',
  duration_ms: 4,
  wait_ms: 0,
  rows: 3,
  bytes: 9,
} as const;
const BOOT = crypto.randomUUID();
const usage = (seq: number, body: object) =>
  fetch(`${s.url}/api/internal/hosts/h1/usage`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-service-token': s.service_token },
    body: JSON.stringify({ boot_id: BOOT, seq, ...body }),
  });

test('only a signed-in person on a page of this server follows changes', async () => {
  expect((await upgrade({})).status).toBe(401);
  expect((await upgrade({ cookie, origin: 'https://other.example' })).status).toBe(403);
  const plain = await fetch(`${s.url}${CHANGES_PATH}`, { headers: { cookie } });
  expect([plain.status, ((await plain.json()) as { detail: string }).detail]).toEqual([
    400,
    'This request cannot become a WebSocket.',
  ]);
});

test('a change is announced by the name of its operation, a read and a refusal are not', async () => {
  const { heard } = await follow();
  await s.call('tools.list', {});
  expect((await s.send('prompts.create', { name: 'bad name' })).status).toBe(422);
  const { id } = await s.call('prompts.create', { name: 'hello', description: 'Says hello', template: 'Hello' });
  await until(() => heard.includes('prompts.create'));
  await s.call('prompts.delete', { id });
  await until(() => heard.includes('prompts.delete'));
  expect(heard.filter((name) => name.startsWith('prompts.'))).toEqual(['prompts.create', 'prompts.delete']);
});

test('calls and a queue at work are announced, a report of rest is not', async () => {
  const { heard } = await follow();
  expect((await usage(1, toBatch([]))).status).toBe(204);
  expect((await usage(2, toBatch([CALL]))).status).toBe(204);
  await until(() => heard.includes('calls'));
  expect(heard.filter((name) => name === 'calls' || name === 'queue')).toEqual(['calls', 'queue']);
});

test('the line ends with the session', async () => {
  const app = s.server.app;
  const router = new Hono<ServerEnv>();
  addChanges(app, router, 50);
  const server = Bun.serve<SocketOwner>({
    port: 0,
    fetch: (request, own) =>
      router.fetch(request, { address: '127.0.0.1', upgrade: (owner) => own.upgrade(request, { data: owner }) }),
    websocket: socketHandler,
  });
  const login = await fetch(`${s.url}/api/v1/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ username: 'ada', password: 'correct horse' }),
  });
  const own = login.headers.get('set-cookie')?.split(';')[0] ?? '';
  const { socket } = await follow(server.url.origin, { cookie: own });
  let code = 0;
  socket.addEventListener('close', (event) => (code = event.code));
  await fetch(`${s.url}/api/v1/auth/logout`, { method: 'POST', headers: { cookie: own } });
  await until(() => code !== 0);
  expect(code).toBe(4_401);
  await server.stop(true);
});
