import { expect, test } from 'bun:test';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSavedCopies } from '#core/lib/saved-copies.ts';
import { createLog } from '#core/process/log.ts';
import { createEndedSessions, createSessionIds } from '#mcp-host/requests/session-ids.ts';
import { ADOPTED_MS, createSessions } from '#mcp-host/requests/sessions.ts';

const KEY = 'the first key of the installation, long enough';
const OLDER = 'an older key of the installation, long enough';
const DAY_MS = 24 * 3_600_000;

const log = createLog('ERROR', () => undefined);
const copies = createSavedCopies({ onChange: () => undefined });

/** The sessions of a host with these keys, and its clock. */
function host(keys: readonly string[] = [KEY], limit = 100, path?: string) {
  const clock = { now: 1_000 };
  const now = () => clock.now;
  const ended = createEndedSessions({ now, lasts_ms: ADOPTED_MS, file: path === undefined ? undefined : { path, copies, log } });
  const sessions = createSessions({ now, ended, ids: createSessionIds(keys), limit });
  const open = (owner = 'token:1') => sessions.open(owner, '2025-06-18', 'Somebody')?.id ?? '';
  return { clock, sessions, open, ended };
}

test('a host takes on the session of another one, with its version and its client', () => {
  const [one, other] = [host(), host()];
  const id = one.open();
  expect(id).toMatch(/^[\w.-]{40,512}$/);
  expect(other.sessions.find(id, 'token:1')).toMatchObject({ id, version: '2025-06-18', client: 'Somebody', opened_at: 1_000 });
  expect(other.sessions.count()).toBe(1);
  expect(other.sessions.find(id, 'token:1')).toBe(other.sessions.find(id, 'token:1'));
});

test('with what its client can: forms, pages, views, several or nothing', () => {
  const [one, other] = [host(), host()];
  for (const [shows_forms, opens_pages, draws_views] of [
    [false, false, false],
    [true, false, false],
    [false, true, false],
    [false, false, true],
    [true, false, true],
    [false, true, true],
  ] as const) {
    const can = { shows_forms, opens_pages, draws_views };
    const id = one.sessions.open('token:1', '2025-11-25', 'Somebody', undefined, undefined, can)?.id ?? '';
    expect(other.sessions.find(id, 'token:1')).toMatchObject(can);
  }
});

test('not for another caller, not with other keys, and not when anything of the id was changed', () => {
  const [one, other, stranger] = [host(), host(), host(['a key of another installation, long enough'])];
  const id = one.open();
  expect(other.sessions.find(id, 'token:2')).toBeNull();
  expect(stranger.sessions.find(id, 'token:1')).toBeNull();
  const [random = '', facts = '', mac = ''] = id.split('.');
  const later = Buffer.from(JSON.stringify([9e15, '2025-06-18', ''])).toString('base64url');
  const forged = [
    `${random}.${later}.${mac}`,
    `x${random}.${facts}.${mac}`,
    `${random}.${facts}`,
    `${id}.x`.slice(1),
    '',
    '..',
    'x'.repeat(9_000),
  ];
  for (const text of forged) expect(other.sessions.find(text, 'token:1')).toBeNull();
  expect(other.sessions.count()).toBe(0);
});

test('after the keys were rotated ids of the older one count', () => {
  const [before, after] = [host([OLDER]), host([KEY, OLDER])];
  expect(after.sessions.find(before.open(), 'token:1')).not.toBeNull();
  expect(before.sessions.find(after.open(), 'token:1')).toBeNull();
});

test('what ended on a host stays ended there, and ids do not count for ever', () => {
  const [one, other] = [host(), host()];
  const id = one.open();
  const taken = other.sessions.find(id, 'token:1');
  if (taken === null) throw new Error('It was to be taken on.');
  other.sessions.end(taken);
  expect(other.sessions.find(id, 'token:1')).toBeNull();
  const old = one.open();
  other.clock.now += 8 * DAY_MS;
  expect(other.sessions.find(old, 'token:1')).toBeNull();
});

test('a host that is full makes room for the session of another one as for its own', () => {
  const [one, other] = [host(), host([KEY], 2)];
  const [first, second] = [other.open(), other.open()];
  expect(other.sessions.find(second, 'token:1')).not.toBeNull();
  expect(other.sessions.find(one.open(), 'token:1')).not.toBeNull();
  expect(other.sessions.find(first, 'token:1')).toBeNull();
  expect(other.sessions.count()).toBe(2);
});

test('without keys ids count on the host that gave them out', () => {
  const [one, other] = [host([]), host([])];
  const id = one.open();
  expect(one.sessions.find(id, 'token:1')).not.toBeNull();
  expect(other.sessions.find(id, 'token:1')).toBeNull();
});

test('whoever comes from another host hears once that lists may have changed', () => {
  const [one, other] = [host(), host()];
  const id = one.open();
  expect([...(one.sessions.find(id, 'token:1')?.missed ?? [])]).toEqual([]);
  expect([...(other.sessions.find(id, 'token:1')?.missed ?? [])].toSorted()).toEqual(['prompts', 'resources', 'tools']);
});

test('a session ended by its client stays ended through a restart of the host, while its id would count', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'sluice-ended-'));
  const path = join(directory, 'ended-sessions');
  const first = host([KEY], 100, path);
  await first.ended.load();
  const [left, kept] = [first.open(), first.open()];
  const session = first.sessions.find(left, 'token:1');
  if (session !== null) first.sessions.end(session);
  expect(first.sessions.find(left, 'token:1')).toBeNull();
  while (!readFileSync(path, { encoding: 'utf8', flag: 'a+' }).endsWith('\n')) await new Promise(setImmediate);
  const again = host([KEY], 100, path);
  await again.ended.load();
  expect(again.sessions.find(left, 'token:1')).toBeNull();
  expect(again.sessions.find(kept, 'token:1')).not.toBeNull();
  const later = host([KEY], 100, path);
  later.clock.now += ADOPTED_MS;
  await later.ended.load();
  expect(readFileSync(path, 'utf8')).toBe('');
  rmSync(directory, { recursive: true });
});
