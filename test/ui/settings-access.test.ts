import { describe, expect, test } from 'bun:test';
import * as v from 'valibot';
import { isLoopback, ServerConfigPatch } from '#core/contract/settings/config.ts';
import { countryName, flagOf } from '#ui/src/pages/agents/access-activity.ts';
import { createAccessTest } from '#ui/src/pages/access/access-test.ts';
import { codesText, deviceOf, inFours, svgAddress } from '#ui/src/pages/account/account-device.ts';
import { changesOf, withCredential } from '#ui/src/pages/settings/settings-draft.ts';
import { rowFaults, toRows, toVariables, valueOf } from '#ui/src/pages/settings/settings-variables.ts';

describe('variables', () => {
  test('a text is a value only when it fits its type', () => {
    expect([valueOf('7', 'integer'), valueOf('-0.5', 'float'), valueOf('true', 'boolean'), valueOf('', 'string')]).toEqual([
      7,
      -0.5,
      true,
      '',
    ]);
    for (const [text, type] of [
      ['7.5', 'integer'],
      ['9007199254740993', 'integer'],
      ['', 'float'],
      ['1,5', 'float'],
      ['Infinity', 'float'],
      ['yes', 'boolean'],
    ] as const) {
      expect([text, valueOf(text, type)]).toEqual([text, undefined]);
    }
  });

  test('every wrong row says what to change, and right ones are what the contract takes', () => {
    const rows = [
      { name: '1st', type: 'string', text: '' },
      { name: 'vat', type: 'float', text: 'a' },
      { name: 'vat', type: 'integer', text: '1' },
    ] as const;
    expect(Object.keys(rowFaults(rows)).toSorted()).toEqual(['rows.0.name', 'rows.1.text', 'rows.2.name']);
    const good = toRows({
      vat: { type: 'float', value: 0.19 },
      top: { type: 'integer', value: 3 },
      on: { type: 'boolean', value: true },
    });
    expect(rowFaults(good)).toEqual({});
    const patch = { global_variables: toVariables(good) };
    expect(v.safeParse(ServerConfigPatch, patch).success).toBe(true);
    const many = Array.from({ length: 101 }, (_, index) => ({ name: `v${index}`, type: 'string' as const, text: '' }));
    expect(rowFaults(many)['rows']).toBeDefined();
  });
});

describe('settings', () => {
  test('only what differs is sent', () => {
    expect(changesOf({ a: 1, list: ['x'], secret: null }, { a: 1, list: ['x', 'y'], secret: null })).toEqual({
      list: ['x', 'y'],
    } as never);
  });

  test('credentials that are emptied are none, so that the stored ones stay', () => {
    const one = withCredential(null, 'api_token', 'abc');
    expect(one).toEqual({ api_token: 'abc' });
    expect(withCredential(one, 'api_token', '')).toBeNull();
  });

  test('addresses of this machine alone are known', () => {
    expect(['localhost', '127.0.0.1', '::1', '0.0.0.0', '10.0.0.1', '127.evil.example'].map(isLoopback)).toEqual([
      true,
      true,
      true,
      false,
      false,
      false,
    ]);
  });
});

describe('access', () => {
  test('the test of the connection tells the tools, or why there is no answer', async () => {
    const good = createAccessTest({
      send: async (_path, init) => {
        const { id } = JSON.parse(typeof init.body === 'string' ? init.body : '{}') as { id: number };
        return Response.json(
          { jsonrpc: '2.0', id, result: { tools: [{ name: 'a' }, { name: 'b' }] } },
          { headers: { 'x-sluice-host': 'h1' } },
        );
      },
    });
    await good.run('');
    expect(good.reached()).toMatchObject({ tools: ['a', 'b'], host: 'h1' });
    const bad = createAccessTest({
      send: async () => new Response('', { status: 401, headers: { 'x-sluice-host': 'h1' } }),
    });
    await bad.run('wrong');
    expect([bad.reached(), bad.refusal()?.reason, bad.busy()]).toEqual([undefined, 'unauthorized', false]);
  });

  test('countries are words', () => {
    expect([flagOf('DE'), flagOf('x'), countryName('DE')]).toEqual(['🇩🇪', '', 'Germany']);
  });
});

test('a session is named by its browser and system', () => {
  expect(deviceOf('Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0 Safari/537.36')).toBe(
    'Chrome on Linux',
  );
  expect(deviceOf('Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit Version/18.0 Mobile Safari/604.1')).toBe(
    'Safari on iPhone',
  );
  expect([deviceOf('curl/8.5'), deviceOf(null), deviceOf('odd agent')]).toEqual(['curl', 'Unknown', 'odd agent']);
});

test('recovery codes make a file, a secret is typed in fours, a picture is an address', () => {
  expect(codesText('s.example.com', 'ada', ['a', 'b'], '2026-11-21T10:00:00Z')).toContain('\na\nb\n');
  expect(inFours('ABCDEFGHIJ')).toBe('ABCD EFGH IJ');
  expect(svgAddress('<svg a="#1"/>')).toBe('data:image/svg+xml,%3Csvg%20a%3D%22%231%22%2F%3E');
});
