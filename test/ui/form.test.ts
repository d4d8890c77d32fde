import { describe, expect, test } from 'bun:test';
import * as v from 'valibot';
import { ConnectionDraft } from '#core/contract/definitions/connections.ts';
import { ResourceDraft } from '#core/contract/definitions/resources.ts';
import { toInvalid } from '#core/process/issues.ts';
import { AppError } from '#core/errors.ts';
import { emptyDraft } from '#ui/src/pages/connections/connection-draft.ts';
import { createForm } from '#ui/src/kernel/form/form.ts';
import { bare } from '#ui/src/kernel/problem.ts';

const draft = (): ConnectionDraft => emptyDraft({ db_type: 'postgresql', default_port: 5432 });

function form(submit: (values: ConnectionDraft) => Promise<unknown> = async () => undefined) {
  return createForm({ schema: ConnectionDraft, initial: draft, submit });
}

test('an empty text is said to be empty, whatever else it would have to be', () => {
  const { issues } = v.safeParse(ResourceDraft, {
    uri_template: '',
    name: '',
    description: '',
    sql_query: '',
    connection_id: '',
  });
  const said = toInvalid(issues ?? [], []).errors.filter(({ field }) => field !== 'parameters');
  expect(said.map(({ message }) => message).filter((message) => !message.endsWith(' must not be empty.'))).toEqual([]);
  expect(said.length).toBeGreaterThan(3);
});

describe('a form', () => {
  test('says what is wrong before the server is asked, at the fields and without their names', async () => {
    const sent: unknown[] = [];
    const it = form(async (values) => sent.push(values));
    expect(await it.submit()).toBe(false);
    expect([it.error('name'), it.error('database'), it.error('host')]).toEqual([
      'Must not be empty.',
      'Must not be empty.',
      undefined,
    ]);
    expect([it.problem()?.detail, sent]).toEqual(['Some fields need attention.', []]);
    it.text('name').onInput('shop');
    expect([it.error('name'), it.error('database')]).toEqual([undefined, 'Must not be empty.']);
  });

  test('takes no name of spaces, which would be seen and found nowhere', () => {
    const it = form();
    it.text('name').onInput('  ');
    expect([it.validate(), it.error('name')]).toEqual([false, 'Must not be empty.']);
    it.text('name').onInput(' shop ');
    expect(it.error('name')).toBeUndefined();
  });

  test('sends what was typed, with null for the empty text where the contract allows it', async () => {
    let sent: ConnectionDraft | undefined;
    const it = form(async (values) => (sent = values));
    it.text('name').onInput('shop');
    it.text('database').onInput('shop');
    it.text('host').onInput('localhost');
    it.text('host').onInput('');
    it.number('port').onInput(null);
    it.flag('read_only').onChange(true);
    it.choice('ssl_mode').onChange('require');
    it.choice('ssl_mode').onChange('');
    expect(await it.submit()).toBe(true);
    expect(sent).toMatchObject({ name: 'shop', database: 'shop', host: null, port: null, read_only: true, ssl_mode: null });
  });

  test('knows what differs from the beginning, and after saving begins anew', async () => {
    const it = form();
    expect(it.dirty()).toBe(false);
    it.set('name', 'a');
    it.set('database', 'b');
    expect(it.changed()).toEqual(['name', 'database']);
    it.set('name', '');
    expect(it.changed()).toEqual(['database']);
    it.set('name', 'a');
    await it.submit();
    expect([it.dirty(), it.base().name]).toEqual([false, 'a']);
    it.set('name', 'c');
    it.reset();
    expect([it.dirty(), it.values.name]).toEqual([false, 'a']);
  });

  test('puts what the server refuses to its fields, and keeps the rest for the end of the form', async () => {
    const refusal = new AppError('conflict', 'There is a connection with this name.', {
      errors: [{ field: 'name', message: 'There is a connection with this name.' }],
    });
    const it = form(() => Promise.reject(refusal));
    it.change((values) => Object.assign(values, { name: 'a', database: 'b' }));
    expect(await it.submit()).toBe(false);
    expect(it.error('name')).toBe('There is a connection with this name.');
    expect(it.problem()?.code).toBe('conflict');
    it.set('name', 'other');
    expect([it.error('name'), it.problem()]).toEqual([undefined, undefined]);
  });

  test('checks nested fields by their dotted path', async () => {
    const it = form();
    it.change((values) => Object.assign(values, { name: 'a', database: 'b', extra_params: { region: 'x' } }));
    it.set('extra_params.region', 'eu');
    expect(it.snapshot().extra_params).toEqual({ region: 'eu' });
    expect(it.text('extra_params.region').value).toBe('eu');
    it.set('port', 0);
    await it.submit();
    expect(it.error('port')).toBe('Must be at least 1.');
  });

  test('what is typed while it is saved stays, beside what is stored now', async () => {
    const it = createForm({
      schema: ConnectionDraft,
      initial: () => ({ ...draft(), name: 'a', database: 'b' }),
      submit: async (values) => {
        it.set('name', 'typed later');
        return { ...values, port: 6_000 };
      },
      onDone: (stored) => it.stored(stored),
    });
    it.set('database', 'c');
    expect(await it.submit()).toBe(true);
    expect([it.values.name, it.values.port, it.changed()]).toEqual(['typed later', 6_000, ['name']]);
  });

  test('a text that is not a number is kept, and refused by the schema', async () => {
    const it = form();
    it.change((values) => Object.assign(values, { name: 'a', database: 'b' }));
    it.number('queue_limit').onInput('30s');
    expect([it.number('queue_limit').value, await it.submit(), it.error('queue_limit')]).toEqual([
      '30s',
      false,
      'Must be a number.',
    ]);
    it.number('queue_limit').onInput(null);
    expect([it.number('queue_limit').value, it.error('queue_limit')]).toEqual([null, 'Must not be empty.']);
  });

  test('runs checks of its own beside the schema', async () => {
    const it = createForm({
      schema: ConnectionDraft,
      initial: () => ({ ...draft(), name: 'a', database: 'b' }),
      check: ({ host }) => ({ host: host === null ? 'Enter a host.' : undefined }),
      submit: async () => undefined,
    });
    expect(await it.submit()).toBe(false);
    expect(it.error('host')).toBe('Enter a host.');
    it.set('host', 'db');
    expect(await it.submit()).toBe(true);
  });
});

test('a sentence under its label does not repeat the name of the field', () => {
  expect(bare('port must be at least 1.', 'port')).toBe('Must be at least 1.');
  expect(bare('host is required for MySQL.', 'host')).toBe('Host is required for MySQL.');
  expect(bare('sql_query is required.', 'sql_query', { sql_query: 'SQL' })).toBe('SQL is required.');
  expect(bare('cors_origins.1 is not an origin.', 'cors_origins.1')).toBe('Entry 2 is not an origin.');
  expect(bare('There is a tool with this name.', 'name')).toBe('There is a tool with this name.');
});
