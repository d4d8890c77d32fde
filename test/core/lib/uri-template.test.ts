import { describe, expect, test } from 'bun:test';
import { matchUri, normalUri, parseUriTemplate, typedValues } from '#core/lib/uri-template.ts';
import { processorMs } from '#test/support/processor-time.ts';

const match = (template: string, uri: string) => matchUri(parseUriTemplate(template), normalUri(uri));

describe('URI templates of level 1', () => {
  test.each([
    ['db://status', 'db://status', {}],
    ['db://customers/{id}', 'db://customers/42', { id: '42' }],
    ['db://{table}/{id}.json', 'db://orders/a.json.json', { table: 'orders', id: 'a.json' }],
    ['db://x/{name}', 'db://x/J%C3%BCrgen%2FM', { name: 'Jürgen/M' }],
    ['db://{a}-{b}-z', 'db://1-2-3-z', { a: '1', b: '2-3' }],
    // What JavaScript's own encoder leaves, what stands in a path as it is, and what is no character of an address at all.
    ['db://x/{name}', "db://x/O'Brien!(*)", { name: "O'Brien!(*)" }],
    ['db://x/{name}', 'db://x/a@b.example:1,2;c=$3+&4', { name: 'a@b.example:1,2;c=$3+&4' }],
    ['db://x/{name}', 'db://x/Jürgen 日本 😀', { name: 'Jürgen 日本 😀' }],
    ['db://x?a={a}&b={b}', 'db://x?a=1:2&b=@3', { a: '1:2', b: '@3' }],
    ['geo://{lat},{lon}', 'geo://1%2c5,2', { lat: '1,5', lon: '2' }],
    // One address in other words: RFC 3986, section 6.2.2, and RFC 3987, section 3.1.
    ['shop://café/7', 'shop://caf%C3%A9/7', {}],
    ['shop://caf%C3%A9/7', 'shop://café/7', {}],
    ['shop://caf%c3%a9/{id}', 'shop://café/7', { id: '7' }],
    ['shop://café/{id}', 'shop://caf%C3%A9/7', { id: '7' }],
    ['shop://a-b/{id}', 'shop://%61%2Db/%37', { id: '7' }],
    ['Shop://A:b/{id}', 'shop://A:b/7', { id: '7' }],
    ['shop://{a}/B:{b}', 'SHOP://x/B:7', { a: 'x', b: '7' }],
  ])('%s takes %s', (template, uri, values) => {
    expect(match(template, uri)).toEqual(values);
  });

  test.each([
    ['db://status', 'db://status/more'],
    ['db://customers/{id}', 'db://customers/'],
    ['db://customers/{id}', 'db://customers/1/2'],
    ['db://customers/{id}', 'db://customers/1?x=1'],
    ['db://customers/{id}', 'db://customers/%'],
    ['db://customers/{id}', 'db://customers/%ff'],
    ['db://{a}/{b}', 'db://1'],
    ['db://{a}{b}', 'db://12'],
    ['db://x?a={a}', 'db://x?a=1&b=2'],
    ['db://x/{id}', 'db://x/1#2'],
    ['shop://a:b', 'shop://a%3Ab'],
    ['shop://A/{id}', 'shop://a/1'],
  ])('%s does not take %s', (template, uri) => {
    expect(match(template, uri)).toBeNull();
  });

  test('a hostile URI costs linear time', () => {
    const template = Array.from({ length: 20 }, (_, n) => `{v${n}}a`).join('-');
    const start = processorMs();
    expect(match(template, `${'a'.repeat(1_000_000)}!`)).toBeNull();
    expect(processorMs() - start).toBeLessThan(8_000);
  });
});

test('the texts of an address become the types of their parameters, and what does not fit stays as it is', () => {
  const parameters = [
    { name: 'id', type: 'integer' },
    { name: 'all', type: 'boolean' },
    { name: 'price', type: 'number' },
    { name: 'day', type: 'date' },
  ] as const;
  expect(typedValues({ id: '-7', all: 'true', price: '1.50', day: '2026-01-01' }, parameters)).toEqual({
    id: -7,
    all: true,
    price: '1.50',
    day: '2026-01-01',
  });
  expect(typedValues({ id: '9007199254740993', all: '1', other: '7' }, parameters)).toEqual({
    id: '9007199254740993',
    all: '1',
    other: '7',
  });
  expect(typedValues({ id: '0x1' }, parameters)).toEqual({ id: '0x1' });
});

test('a variable may have any name', () => {
  expect(Object.entries(typedValues(match('db://x/{__proto__}', 'db://x/7') ?? {}, []))).toEqual([['__proto__', '7']]);
});
