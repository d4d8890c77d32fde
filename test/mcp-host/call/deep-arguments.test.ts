import { beforeAll, expect, test } from 'bun:test';
import { processorMs } from '#test/support/processor-time.ts';
import { connectionOf, ENVELOPE, parameterOf, rpc, snapshotOf, toolOf } from '../support.ts';
import { useHost } from '../use-host.ts';

const { control, host } = useHost('all');
const DEPTH = 100_000;
const DEEP = `${'['.repeat(DEPTH)}${']'.repeat(DEPTH)}`;
const HOLDS_UP_MS = 250;

beforeAll(async () => {
  const shop = connectionOf({});
  const json = { parameters: [parameterOf('value', 'json', { required: false })] };
  const sql = 'select :value as value';
  const tools = [
    toolOf(shop, 'plain', sql, json),
    toolOf(shop, 'logged', sql, { ...json, log_arguments: true }),
    toolOf(shop, 'listed', 'select count(*) as n from json_each(:values)', {
      parameters: [parameterOf('values', 'array', { items: 'json' })],
    }),
    toolOf(shop, 'paged', 'select id, name from customers', {
      page_by: [{ column: 'id', desc: false, type: 'INTEGER', kind: 'bigint' }],
    }),
    toolOf(shop, 'checked', 'delete from customers where id > 1000', { mode: 'write', confirm: 'always', two_step: true }),
    toolOf(shop, 'asking', 'select :text as text', { parameters: [parameterOf('text', 'string')], ask_missing: true }),
  ];
  const ack = await control.deploy(snapshotOf(1, { connections: [shop], tools, server: { replay_samples: 50 } }));
  expect(ack.error).toBeNull();
});

/** Sends a text that no serializer writes. @returns the answer, and how long the host worked on it, if it runs in this process. */
async function send(text: string, headers: Record<string, string> = {}) {
  const began = processorMs();
  const response = await fetch(host.mcp, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json', ...headers },
    body: text,
  });
  const body = await response.text();
  return { status: response.status, body, took: processorMs() - began };
}
const callRaw = (name: string, args: string) =>
  send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"${name}","arguments":${args}}}`);

test.each([
  ['plain', `{"value":${DEEP}}`],
  ['plain', `{"other":${DEEP}}`],
  ['logged', `{"value":${DEEP}}`],
  ['paged', `{"other":${DEEP},"after":"x"}`],
  ['checked', `{"other":${DEEP},"confirm_token":"x"}`],
  ['asking', `{"other":${DEEP}}`],
])('arguments that are nested far too deep are refused at once (%s)', async (name, args) => {
  await callRaw(name, '{}');
  const { body, took } = await callRaw(name, args);
  expect(body).toContain('Arguments must be nested at most 64 levels deep.');
  expect(took).toBeLessThan(HOLDS_UP_MS);
});

test('arguments of 64 levels are taken, in a list too, and of one level more refused by name', async () => {
  const nested = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`;
  expect((await callRaw('logged', `{"value":${nested(64)}}`)).body).not.toContain('isError');
  expect((await callRaw('listed', `{"values":[${nested(64)}]}`)).body).not.toContain('isError');
  expect((await callRaw('logged', `{"value":${nested(65)}}`)).body).toContain('value must be nested at most 64 levels deep.');
});

test('answers to questions that are nested far too deep hold up nobody', async () => {
  const capabilities = { elicitation: { form: {} } };
  const params = { protocolVersion: '2025-11-25', capabilities, clientInfo: { name: 'raw', version: '1' } };
  const { headers } = await rpc(host.mcp, { id: 1, method: 'initialize', params });
  const session = { 'mcp-session-id': headers.get('mcp-session-id') ?? '' };
  const { status, took } = await send(`{"jsonrpc":"2.0","id":"nobody-asked","result":{"content":${DEEP}}}`, session);
  expect(status).toBe(202);
  expect(took).toBeLessThan(HOLDS_UP_MS);
});

test('a form that is filled in with something far too deep is refused at once', async () => {
  const meta = { ...ENVELOPE, 'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {} } } };
  const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'asking' };
  const params = (more: string) =>
    `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"asking","arguments":{},"_meta":${JSON.stringify(meta)}${more}}}`;
  const asked = JSON.parse((await send(params(''), headers)).body) as {
    result: { requestState: string; inputRequests: Record<string, unknown> };
  };
  const [question] = Object.keys(asked.result.inputRequests);
  const reply = `{"${question}":{"action":"accept","content":{"text":${DEEP}}}}`;
  const filled = `,"requestState":${JSON.stringify(asked.result.requestState)},"inputResponses":${reply}`;
  const { body, took } = await send(params(filled), headers);
  expect(body).toContain('must be nested at most 64 levels deep.');
  expect(took).toBeLessThan(HOLDS_UP_MS);
});
