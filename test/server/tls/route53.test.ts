import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test';
import { route53 } from '#server/tls/route53.ts';
import { AWS_KEYS, type DnsProviders, startDnsProviders } from '#test/support/dns-providers.ts';

const NAME = '_acme-challenge.ui.example.com';
let providers: DnsProviders;
beforeAll(() => {
  providers = startDnsProviders({ add: async () => undefined, clear: async () => undefined });
});
beforeEach(() => providers.sets.clear());
afterAll(() => providers.stop());

const opened = (signal = AbortSignal.timeout(30_000), ask = fetch as Parameters<typeof route53>[0]['ask']) =>
  route53({ url: providers.urls.route53, credentials: AWS_KEYS, ask, signal });
const later = () => AbortSignal.timeout(5_000);

test('records of others under the same name stay, with their lifetime', async () => {
  const theirs = { ttl: '300', values: ['"theirs & more"', '"second"'] };
  providers.sets.set(NAME, theirs);
  const provider = opened();
  const first = await provider.add(NAME, 'ours-1');
  const second = await provider.add(NAME, 'ours-2');
  expect(providers.sets.get(NAME)).toEqual({ ttl: '300', values: [...theirs.values, '"ours-1"', '"ours-2"'] });
  await first.remove(later());
  await second.remove(later());
  expect(providers.sets.get(NAME)).toEqual(theirs);
  // Somebody else removed it already.
  await first.remove(later());
  expect(providers.sets.get(NAME)).toEqual(theirs);
});

test('a record that is alone goes with its set', async () => {
  const record = await opened().add(NAME, 'ours');
  expect(providers.sets.get(NAME)?.values).toEqual(['"ours"']);
  await record.remove(later());
  expect([...providers.sets]).toEqual([]);
});

test('what somebody else adds at the same moment is not lost', async () => {
  let meanwhile = true;
  const provider = opened(undefined, async (url, init) => {
    if (init.method === 'POST' && meanwhile) {
      meanwhile = false;
      providers.sets.set(NAME, { ttl: '60', values: ['"theirs"'] });
    }
    return fetch(url, init);
  });
  await provider.add(NAME, 'ours');
  expect(providers.sets.get(NAME)?.values).toEqual(['"theirs"', '"ours"']);
});

test('an order that was aborted cleans up all the same', async () => {
  const ending = new AbortController();
  const provider = opened(ending.signal);
  const record = await provider.add(NAME, 'ours');
  const waiting = provider.add(NAME, 'second');
  while (providers.sets.get(NAME)?.values.length !== 2) await Bun.sleep(5);
  ending.abort();
  await waiting.then(
    () => expect.unreachable(),
    () => undefined,
  );
  expect(providers.sets.get(NAME)?.values).toEqual(['"ours"']);
  await record.remove(later());
  expect([...providers.sets]).toEqual([]);
});
