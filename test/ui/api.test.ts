import { expect, test } from 'bun:test';
import { createApi } from '#ui/src/api.ts';
import { toProblem } from '#ui/src/kernel/problem.ts';

const TOKEN = { name: 'laptop', idle_timeout_minutes: null, toolsets: null, claims: {} };

/** An API whose answers are given one after the other; undefined is lost on the way. */
function apiOf(...answers: (Response | undefined)[]) {
  const keys: (string | null)[] = [];
  const changed: string[] = [];
  const call = createApi({
    read_ms: 20,
    onSessionEnd: () => {},
    onChanged: (source) => changed.push(source),
    fetch: async (_, init) => {
      keys.push(new Headers(init.headers).get('idempotency-key'));
      const answer = answers.shift();
      if (answer === undefined) throw new TypeError('Failed to fetch');
      return answer;
    },
  });
  return { call, keys, changed };
}
const made = () => Response.json({ ...TOKEN, id: 'a', token: 'svc_mcp_a' }, { status: 201 });
const refused = () => Response.json({ detail: 'Wrong.', code: 'invalid', errors: [] }, { status: 422 });
const problemOf = (work: Promise<unknown>) => work.then(() => undefined, toProblem);

test('a creation whose answer was lost is sent again with its key, which is used for nothing else', async () => {
  const { call, keys } = apiOf(undefined, new Response('', { status: 502 }), made(), made(), refused(), made());
  for (let press = 0; press < 3; press++) await problemOf(call('mcp_tokens.create', TOKEN));
  expect(new Set(keys)).toEqual(new Set([keys[0] ?? null]));
  expect(keys[0]).toMatch(/^[\w-]{8,}$/);
  await call('mcp_tokens.create', TOKEN);
  await problemOf(call('mcp_tokens.create', TOKEN));
  await call('mcp_tokens.create', TOKEN);
  expect(new Set(keys.slice(2)).size).toBe(4);
});

test('what was lost is made anew once something else was changed, such as a token that was revoked', async () => {
  const { call, keys } = apiOf(undefined, new Response(null, { status: 204 }), made());
  await problemOf(call('mcp_tokens.create', TOKEN));
  await call('mcp_tokens.delete', { id: 'a' });
  await call('mcp_tokens.create', TOKEN);
  expect(keys[1]).toBeNull();
  expect(keys[2]).not.toBe(keys[0] ?? '');
});

test('a lost answer says that the change may have happened, and what shows it is read again', async () => {
  const { call, changed } = apiOf();
  const change = await problemOf(call('mcp_tokens.create', TOKEN));
  expect(change).toMatchObject({ code: 'offline' });
  expect(change?.detail).toStartWith('The server did not answer, but it may have applied the change.');
  expect(changed).toEqual(['mcp_tokens']);
  const read = await problemOf(call('mcp_tokens.list', {}));
  expect(read?.detail).toBe('The server did not answer. Check that it is running and that this browser can reach it.');
  expect(changed).toHaveLength(1);
});

test('a read that is not answered ends, and is one that may be repeated; a change is waited for', async () => {
  const call = createApi({
    read_ms: 20,
    onSessionEnd: () => {},
    fetch: (_, { signal }) =>
      new Promise((resolve, reject) => {
        signal?.addEventListener('abort', () => reject(signal.reason as Error));
        setTimeout(() => resolve(made()), 200);
      }),
  });
  expect(await problemOf(call('tools.list', {}))).toEqual({
    code: 'unavailable',
    detail: 'The server took too long to answer.',
    errors: [],
  });
  const mine = new AbortController();
  const given_up = problemOf(call('tools.list', {}, mine.signal));
  mine.abort();
  expect(await given_up).toMatchObject({ code: 'aborted' });
  expect(await call('mcp_tokens.create', TOKEN)).toMatchObject({ token: 'svc_mcp_a' });
});
