import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { compileQuery } from '#snapshots/freeze/compile.ts';
import { EVERY_ENGINE, type OpenEngine } from './every-engine.ts';
import { refusal } from './suite.ts';
import { toolOn } from './tool-call.ts';

const CREATE = (kind: string): readonly string[] => [
  `create table three (id int)${kind === 'clickhouse' ? ' engine = Memory' : ''}`,
  'insert into three values (1), (2), (3)',
];
const INTEGER = (name: string) => ({ name, type: 'integer', description: name, required: false }) as const;

describe.each(EVERY_ENGINE)('a value that is left out on $kind', ({ kind, up, open }) => {
  let engine: OpenEngine;
  beforeAll(async () => {
    if (up) engine = await open(CREATE(kind));
  }, 60_000);
  afterAll(() => engine?.close());

  const ids = async (text: string, args: Readonly<Record<string, unknown>>) => {
    const tool = await toolOn(engine, text, [INTEGER('n'), INTEGER('skip')]);
    return (await tool.call(args))['rows'] as unknown;
  };
  const rows = (...found: number[]) => found.map((id) => ({ id }));

  test.skipIf(!up)('is no limit and no offset', async () => {
    const text = 'select id from three order by id limit :n offset :skip';
    expect(await ids(text, {})).toEqual(rows(1, 2, 3));
    expect(await ids(text, { n: 2 })).toEqual(rows(1, 2));
    expect(await ids(text, { skip: 2 })).toEqual(rows(3));
    expect(await ids(text, { n: 1, skip: 1 })).toEqual(rows(2));
    expect(await ids(text, { n: 0 })).toEqual([]);
  });

  test.skipIf(!up)('is NULL where the same name stands outside of the limit', async () => {
    const text = 'select id from three where (:n is null or id <= :n) order by id limit :n';
    expect(await ids(text, {})).toEqual(rows(1, 2, 3));
    expect(await ids(text, { n: 2 })).toEqual(rows(1, 2));
  });

  if (['mysql', 'sqlite', 'libsql', 'clickhouse'].includes(kind)) {
    test.skipIf(!up)('is no limit behind a comma', async () => {
      const text = 'select id from three order by id limit :skip, :n';
      expect(await ids(text, {})).toEqual(rows(1, 2, 3));
      expect(await ids(text, { n: 1, skip: 1 })).toEqual(rows(2));
    });
  }

  if (!['postgresql', 'duckdb'].includes(kind)) {
    test('is declared as a whole number where it is a limit', async () => {
      const definition = { sql_query: 'select 1 limit :n', return_type: 'rows', transform_template: null } as const;
      const parameters = [{ name: 'n', type: 'number', description: 'n', required: false }] as const;
      const compiled = compileQuery({ ...definition, parameters }, kind);
      expect((await refusal(compiled)).detail).toBe('LIMIT and OFFSET take whole numbers: declare n with the type integer.');
    });
  }

  if (['mysql', 'postgresql', 'clickhouse'].includes(kind)) {
    test.skipIf(!up)('is no limit of FETCH', async () => {
      const text = 'select id from three order by id offset :skip rows fetch first :n rows only';
      expect(await ids(text, {})).toEqual(rows(1, 2, 3));
      expect(await ids(text, { n: 1, skip: 1 })).toEqual(rows(2));
    });
  }
});
