import { describe, expect, test } from 'bun:test';
import { isSameSecret } from '#core/edge/service-token.ts';
import { loginsOf, readTokenForm } from '#core/edge/token-form.ts';

const send = (body: string, headers: Record<string, string> = { 'content-type': 'application/x-www-form-urlencoded' }) =>
  readTokenForm(new Request('http://x/oauth/token', { method: 'POST', headers, body }));
const statusOf = (answer: unknown) => (answer instanceof Response ? answer.status : 200);

describe('a request for a token', () => {
  test.each([
    ['grant_type=client_credentials&scope=read', 200],
    ['resource=https://a.example&resource=https://b.example', 200],
    ...['grant_type', 'refresh_token', 'client_id', 'client_secret', 'scope'].map(
      (name) => [`${name}=a&${name}=a`, 400] as const,
    ),
  ] as const)('%s is answered %d', async (body, status) => {
    expect(statusOf(await send(body))).toBe(status);
  });

  test('must be a form that was posted', async () => {
    expect(statusOf(await send('{}', { 'content-type': 'application/json' }))).toBe(400);
    expect(statusOf(await readTokenForm(new Request('http://x/oauth/token')))).toBe(405);
  });
});

describe('the client of a request for a token', () => {
  const basic = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`;
  const read = (header: string | null, form = '') => loginsOf(header, new URLSearchParams(form));

  test.each([['Bearer x'], ['Basic'], ['Basic !'], [basic('no colon')]])(
    'is refused with a challenge for Authorization: %s',
    (header) => {
      const answer = read(header);
      expect([statusOf(answer), answer instanceof Response && answer.headers.get('www-authenticate')]).toEqual([
        401,
        'Basic realm="sluice"',
      ]);
    },
  );

  test('is in the header or in the body, not in both, and the same in both', () => {
    expect(statusOf(read(basic('a:b'), 'client_secret=b'))).toBe(400);
    expect(statusOf(read(basic('a:b'), 'client_id=c'))).toBe(400);
    expect(read(null, 'client_id=a&client_secret=b')).toEqual([{ client_id: 'a', client_secret: 'b' }]);
    expect(read(null, 'client_id=a')).toEqual([]);
  });

  test('is read form-encoded first, then as it stands', () => {
    expect(read(basic('a%3Ab:c+d:e'))).toEqual([
      { client_id: 'a:b', client_secret: 'c d:e' },
      { client_id: 'a%3Ab', client_secret: 'c+d:e' },
    ]);
    expect(read(basic('a:50%'))).toEqual([
      { client_id: 'a', client_secret: '50%' },
      { client_id: 'a', client_secret: '50%' },
    ]);
  });
});

test('secrets are compared whatever their lengths', () => {
  expect([isSameSecret('a', 'a'), isSameSecret('a', 'b'), isSameSecret('a', 'ab'), isSameSecret('', 'a')]).toEqual([
    true,
    false,
    false,
    false,
  ]);
});
