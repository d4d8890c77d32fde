import { expect, test } from 'bun:test';
import type { HistoryEntry } from '#core/contract/history.ts';
import { recordName } from '#ui/src/kernel/record-words.ts';
import { fieldName } from '#ui/src/kernel/words.ts';
import { blockedOf, byDay, dateOf, dayName, goesAlong, recordHref, whyNot } from '#ui/src/pages/history/history-log.ts';

const entry = (id: string, over: Partial<HistoryEntry> = {}): HistoryEntry => ({
  id,
  entity_type: 'tool',
  entity_id: `e-${id}`,
  entity_name: `name_${id}`,
  action: 'update',
  actor: { type: 'admin', id: 'a', name: 'ada' },
  ip: null,
  changes: {},
  snapshot: null,
  version_before: 1,
  version_after: 2,
  batch_id: null,
  created_at: '2026-11-21T12:00:00.000Z',
  ...over,
});

test('entries are grouped by day, newest first, and those of one batch follow their connection', () => {
  const days = byDay([
    entry('1'),
    entry('2', { batch_id: 'b' }),
    entry('3', { batch_id: 'b', entity_type: 'connection', entity_name: 'shop' }),
    entry('4', { batch_id: 'b' }),
    entry('5', { created_at: '2026-11-18T12:00:00.000Z' }),
  ]);
  expect(days.map(({ actions }) => actions.map(({ main, others }) => [main.entity_name, others.length]))).toEqual([
    [
      ['name_1', 0],
      ['shop', 2],
    ],
    [['name_5', 0]],
  ]);
  const now = Date.parse('2026-11-21T12:30:00.000Z');
  expect(dayName(dateOf('2026-11-21T12:00:00.000Z'), now)).toBe('Today');
  expect(dayName(dateOf('2026-11-20T12:00:00.000Z'), now)).toBe('Yesterday');
  expect(dayName('2026-11-18', now)).toBe('Wednesday, November 18, 2026');
});

test('what cannot be rolled back says why', () => {
  const action = (main: HistoryEntry, ...others: HistoryEntry[]) => ({ id: '1', main, others });
  const anything = () => true;
  const no_settings = (name: string) => name !== 'config.update';
  expect(whyNot(action(entry('1')), no_settings)).toBeUndefined();
  const settings = entry('2', { entity_type: 'server_config' });
  for (const given of [action(settings), action(entry('1'), settings)]) {
    expect(whyNot(given, anything)).toBeUndefined();
    expect(whyNot(given, no_settings)).toBe('Only administrators can roll back server settings.');
  }
  for (const over of [
    { action: 'blocked' },
    { action: 'deploy', entity_type: 'snapshot' },
    { entity_type: 'mcp_token' },
    { secrets_unavailable: true },
  ] as const) {
    expect(whyNot(action(entry('1', over)), anything)).toMatch(/\.$/);
  }
});

test('a record is found where it is edited, unless it is gone', () => {
  expect(recordHref(entry('1'))).toBe('/tools/e-1');
  expect(recordHref(entry('1', { action: 'delete' }))).toBeUndefined();
  expect(recordHref(entry('1', { entity_type: 'server_config' }))).toBe('/settings');
  expect(recordHref(entry('1', { entity_type: 'admin' }))).toBe('/people');
});

test('a refused change says which control refused what, and what to do when it was meant', () => {
  const refused = blockedOf(
    entry('1', {
      action: 'blocked',
      snapshot: { code: 'prompt_injection_blocked', fields: ['description'], rules: ['override.ignore_previous'], count: 3 },
    }),
  );
  expect(refused).toMatchObject({ fields: ['description'], rules: ['override.ignore_previous'], count: 3 });
  expect([refused?.why, refused?.advice].join(' ')).toMatch(/guard/);
  expect(blockedOf(entry('1', { action: 'blocked', snapshot: { code: 'odd' } }))).toMatchObject({ fields: [], count: 1 });
  expect(blockedOf(entry('1'))).toBeUndefined();
});

test('what a rollback deletes with the records of the change has a line for each', () => {
  const none = { tools: [], resources: [], prompts: [], tests: [] };
  expect(goesAlong(none)).toEqual([]);
  expect(goesAlong({ ...none, tools: ['a', 'b'], tests: ['finds orders'] })).toEqual([
    'The tool a',
    'The tool b',
    'The test finds orders',
  ]);
});

test('records and fields are called by words, not by ids', () => {
  const id = '01a2208d-34f2-7704-be64-329e2a87f8d7';
  expect(recordName({ entity_type: 'snapshot', entity_name: `canary ${id}` })).toBe('canary');
  expect(recordName({ entity_type: 'snapshot', entity_name: 'v2' })).toBe('v2');
  expect(recordName({ entity_type: 'tool', entity_name: `find ${id}` })).toBe(`find ${id}`);
  expect(fieldName({ sql_query: 'SQL' }, 'sql_query')).toBe('SQL');
  expect(fieldName({}, 'invitation_accepted')).toBe('Invitation accepted');
  expect(fieldName(undefined, 'client_id')).toBe('Client ID');
});
