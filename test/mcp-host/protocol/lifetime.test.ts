import { expect, test } from 'bun:test';
import { connection, modern, resourceOf, snapshotOf } from '../support.ts';
import { useHost } from '../use-host.ts';

const { control, host } = useHost('all', { now: () => now });
let now = Date.now();
let version = 0;
const deployOne = () => {
  const resources = [resourceOf(connection, 'db://one', 'select 1 as one')];
  return control.deploy(snapshotOf(++version, { connections: [connection], resources, server: { auth_type: 'none' } }));
};

const LISTS = ['server/discover', 'tools/list', 'prompts/list', 'resources/list', 'resources/templates/list'];
const lifetimes = async (methods: readonly string[], params = {}) =>
  Promise.all(methods.map(async (method) => (await modern(host.mcp, method, params)).body.result?.['ttlMs']));

test('a list holds for a tenth of the time it has stood, not at all after a deploy, and a minute at most', async () => {
  const after = async (seconds: number) => {
    await deployOne();
    now += seconds * 1_000;
    return new Set(await lifetimes(LISTS));
  };
  expect(await after(0)).toEqual(new Set([0]));
  expect(await after(9)).toEqual(new Set([0]));
  expect(await after(30)).toEqual(new Set([3_000]));
  expect(await after(600)).toEqual(new Set([60_000]));
  expect(await after(86_400)).toEqual(new Set([60_000]));
  expect(await after(0)).toEqual(new Set([0]));
});

test('what a resource reads never holds: its database may change at any time', async () => {
  now += 86_400_000;
  expect(await lifetimes(['resources/read'], { uri: 'db://one' })).toEqual([0]);
});
