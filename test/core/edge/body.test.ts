import { afterAll, expect, test } from 'bun:test';
import { readForm, readText } from '#core/edge/body.ts';
import { AppError, asFault } from '#core/errors.ts';
import { halfSent } from '#test/support/half-sent.ts';

const LIMITS = { max_bytes: 2_048, within_ms: 200 };
const server = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  async fetch(request) {
    const read = new URL(request.url).pathname === '/form' ? readForm(request, LIMITS).then(String) : readText(request, LIMITS);
    const text = await read.catch(asFault);
    return text instanceof AppError ? Response.json({ detail: text.detail }, { status: text.status }) : new Response(text);
  },
});
afterAll(() => server.stop(true));
const url = String(server.url);
const postBody = (body: RequestInit['body'], path = '', headers = {}) =>
  fetch(`${url}${path}`, { method: 'POST', body: body ?? null, headers });

test('a body within its limits is read, in one piece or in many', async () => {
  expect(await (await postBody('é'.repeat(1_024))).text()).toBe('é'.repeat(1_024));
  const pieces = new ReadableStream({
    async start(controller) {
      for (const piece of ['a', 'b', 'c']) {
        controller.enqueue(new TextEncoder().encode(piece));
        await Bun.sleep(5);
      }
      controller.close();
    },
  });
  expect(await (await postBody(pieces)).text()).toBe('abc');
  const form = { 'content-type': 'application/x-www-form-urlencoded; charset=utf-8' };
  expect(await (await postBody('a=1&b=%20', 'form', form)).text()).toBe('a=1&b=+');
  expect((await postBody('a=1', 'form')).status).toBe(415);
});

test('a body that says that it is too long is refused before it is there', async () => {
  const request = await halfSent(url, { 'content-length': '1000000' }, 'x');
  expect(await request.status()).toBe(413);
  request.close();
});

test('a body that does not say how long it is ends where the limit is', async () => {
  const chunk = `400\r\n${'x'.repeat(1_024)}\r\n`;
  const request = await halfSent(url, { 'transfer-encoding': 'chunked' }, chunk.repeat(3));
  expect(await request.status()).toBe(413);
  expect(request.text()).toContain('The body is larger than 2 KiB.');
  request.close();
});

test('a body that comes byte by byte has a deadline as a whole', async () => {
  const request = await halfSent(url, { 'content-length': '1000' }, 'x');
  const drip = setInterval(() => request.send('x'), 20);
  expect(await request.status()).toBe(400);
  clearInterval(drip);
  expect(request.text()).toContain('The body did not arrive within 0.2 seconds.');
  request.close();
});

test('what is not UTF-8 is refused', async () => {
  expect((await postBody(new Uint8Array([0xff, 0xfe]))).status).toBe(400);
});
