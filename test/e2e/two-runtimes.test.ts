import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type TwoRuntimes, startTwoRuntimes } from '#test/support/two-runtimes.ts';

const DEPLOYS = 5;
const CALLERS = 3;

interface Receipt {
  readonly hosts: readonly { readonly acked_ms: number | null; readonly error: string | null }[];
}

let both: TwoRuntimes;
let urls: string[] = [];

async function search(url: string): Promise<string> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'search_products', arguments: { text: 'l', limit: 3 } },
    }),
  });
  return `${response.status} ${await response.text()}`;
}

beforeAll(async () => {
  both = await startTwoRuntimes({ SVC_DEMO: 'true' });
  await both.server.demo();
  await both.server.signIn();
  urls = (await both.startHosts()).map(({ url }) => url);
}, 90_000);
afterAll(() => both?.stop());

describe('a host on Bun and a host on Deno', () => {
  test('give the same answers', async () => {
    const [one, other] = await Promise.all(urls.map(search));
    expect(one).toStartWith('200 ');
    expect(one).toContain('"rows"');
    expect(other).toBe(one ?? '');
  });

  test('take every deploy without losing a call', async () => {
    const expected = await search(urls[0] ?? '');
    const end = new AbortController();
    const calls = urls.map(() => 0);
    const lost: string[] = [];
    const load = urls.flatMap((url, index) =>
      Array.from({ length: CALLERS }, async () => {
        while (!end.signal.aborted) {
          const said = await search(url).catch(String);
          // The version that answered is all that may differ.
          if (said.startsWith('200 ') && said.includes('"rows"') && !said.includes('isError'))
            calls[index] = (calls[index] ?? 0) + 1;
          else lost.push(said);
        }
      }),
    );
    for (let number = 1; number <= DEPLOYS; number++) {
      await both.server.api('PATCH', '/server/config', { server_name: `Shop ${number}` });
      const { hosts: acks } = await both.server.api<Receipt>('POST', '/deploy', {});
      expect(acks.map(({ error }) => error)).toEqual([null, null]);
      expect(acks.every(({ acked_ms }) => acked_ms !== null)).toBe(true);
      await Bun.sleep(100);
    }
    end.abort();
    await Promise.all(load);
    expect(lost).toEqual([]);
    expect(Math.min(...calls)).toBeGreaterThan(DEPLOYS);
    expect(await Promise.all(urls.map(search))).toEqual([expected, expected]);
  }, 60_000);
});
