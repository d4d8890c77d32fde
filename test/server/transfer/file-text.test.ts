import { describe, expect, test } from 'bun:test';
import { parseDocument } from 'yaml';
import { fileNameOf, ROOMS } from '#core/transfer/files/layout.ts';
import { normalise, slimValues } from '#core/transfer/files/records.ts';
import { editText, readText, TextFault, writeText } from '#core/transfer/files/text.ts';
import { canonical } from '#snapshots/format/canonical.ts';
import { AppError } from '#core/errors.ts';
import { fc } from '#test/support/chance.ts';

/** Texts that YAML, SQL and editors take apart: signs of YAML, line ends of every kind, indents, separators, emoji. */
const NASTY = [
  '',
  ' ',
  '\n',
  '\r',
  '\r\n',
  '\t',
  '  x',
  'x  ',
  '---',
  '---\n',
  '\n---\n',
  '...',
  '# no comment',
  'a: b',
  '- a',
  '"',
  "'",
  '\\',
  '|',
  '>',

  'yes',
  'no',
  'null',
  '~',
  '1e3',
  '0x1f',
  '1_000',
  '.inf',
  '2026-01-01',
  '\u0085',
  '\u2028',
  '\uFEFF',
  '\u200b',
  '\u0007',
  '🦀',
  'é',
  'e\u0301',
  '<<',
  '&a',
  '*a',
  '!!str',
  '%YAML 1.1',
  '{',
  '[',
  'x: |',
  '- \n',
  '?',
  '@',
  '`',
];
const text = (min = 0) =>
  fc
    .array(fc.oneof(fc.constantFrom(...NASTY), fc.string({ unit: 'binary' }), fc.lorem({ maxCount: 4 })), { maxLength: 8 })
    .map((parts) => parts.join('').replaceAll('\0', '').toWellFormed().slice(0, 900).toWellFormed())
    .filter((value) => value.length >= min);
const name = fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_-]{0,63}$/);
const optional = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });
const json = fc.jsonValue({ maxDepth: 3 }).map((value) => JSON.parse(JSON.stringify(value)) as unknown);
const few = <T>(arbitrary: fc.Arbitrary<T>) => fc.array(arbitrary, { maxLength: 3 });
const parameter = fc.record(
  {
    name: fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_]{0,20}$/),
    type: fc.constantFrom('string', 'integer', 'json'),
    description: text(),
    required: fc.boolean(),
    default: json,
    enum: fc.array(fc.oneof(text(), fc.integer(), fc.boolean()), { minLength: 1, maxLength: 3 }),
    minimum: fc.double({ noNaN: true, noDefaultInfinity: true }),
  },
  { requiredKeys: ['name', 'type'] },
);
const nullable = (arbitrary: fc.Arbitrary<string>) => fc.option(arbitrary, { nil: null });
const shared = {
  name,
  title: optional(nullable(text(1).map((value) => value.slice(0, 200).toWellFormed()))),
  description: text(1),
};
const tags = optional(few(text(1).map((value) => value.slice(0, 64).toWellFormed())));
const sql = {
  connection: text(1).map((value) => value.slice(0, 255).toWellFormed()),
  sql_query: text(1),
  parameters: optional(few(parameter)),
  transform_template: optional(nullable(text(1))),
};
const selection = optional(fc.record({ tags, tools: few(name), connections: few(text(1)) }, { requiredKeys: [] }));
const DRAFTS: Readonly<Record<string, fc.Arbitrary<Record<string, unknown>>>> = {
  connection: fc.record({
    name: text(1).map((value) => value.slice(0, 255).toWellFormed()),
    db_type: fc.constantFrom('sqlite', 'postgresql'),
    database: text(1),
    host: optional(nullable(text(1).map((value) => value.slice(0, 255).toWellFormed()))),
    extra_params: optional(
      fc.dictionary(
        text(1).map((value) => value.slice(0, 128).toWellFormed()),
        json,
        { maxKeys: 3 },
      ),
    ),
    ssl_ca: optional(nullable(text(1))),
  }),
  tool: fc.record({
    ...shared,
    ...sql,
    tags,
    read_only: optional(fc.boolean()),
    max_rows: optional(fc.integer({ min: 1, max: 9 })),
  }),
  resource: fc.record({ ...shared, ...sql, tags, uri_template: text(3) }),
  prompt: fc.record({
    ...shared,
    template: optional(nullable(text(1))),
    messages: optional(
      fc.array(fc.record({ role: fc.constantFrom('user', 'assistant'), template: text(1) }), { minLength: 1, maxLength: 3 }),
    ),
    arguments: optional(few(fc.record({ name: fc.stringMatching(/^[a-z]{1,9}$/), description: text() }))),
  }),
  toolset: fc.record({
    name: fc.stringMatching(/^[a-z][a-z0-9-]{3,20}$/),
    description: text(),
    include: selection,
    exclude: selection,
  }),
  test: fc.record({
    name: text(1).map((value) => value.slice(0, 100).toWellFormed()),
    owner: fc.record({ kind: fc.constantFrom('tool', 'resource', 'prompt'), name }),
    arguments: optional(fc.dictionary(name, json, { maxKeys: 3 })),
    expect: optional(
      fc.record(
        { equals: json, rows: fc.record({ min: fc.nat({ max: 9 }) }), columns: fc.array(name, { minLength: 1, maxLength: 3 }) },
        { requiredKeys: [] },
      ),
    ),
    enabled: optional(fc.boolean()),
  }),
};

describe.each(ROOMS.map((room) => [room.folder, room] as const))('a file of %s', (_, room) => {
  const values = (DRAFTS[room.kind] ?? fc.constant({})).map((draft) => {
    const sent = Object.fromEntries(Object.entries(draft).filter(([, value]) => value !== undefined));
    return normalise(room, sent);
  });
  const read = (file: string, called: unknown) =>
    canonical(normalise(room, { name: called, ...readText(file, room.body).values }));

  const readsAs = (file: string, record: Readonly<Record<string, unknown>>): boolean => {
    try {
      return read(file, record['name']) === canonical(record);
    } catch (error) {
      if (error instanceof TextFault || error instanceof AppError) return false;
      throw error;
    }
  };

  test('holds every value, and is written the same way again', () => {
    fc.assert(
      fc.property(values, (record) => {
        const file = writeText(slimValues(room, record), room.body);
        expect(read(file, record['name'])).toBe(canonical(record));
        expect(
          writeText(slimValues(room, normalise(room, { name: record['name'], ...readText(file, room.body).values })), room.body),
        ).toBe(file);
      }),
      { numRuns: 150 },
    );
  });

  test('that a person commented keeps every comment of what stays when its values change', () => {
    fc.assert(
      fc.property(values, values, (before, after) => {
        const commented = withComments(writeText(slimValues(room, before), room.body), room.body);
        // The library writes a few texts in a way that it reads otherwise; `writeText` quotes those.
        fc.pre(readsAs(commented, before));
        const [slim, full] = [slimValues(room, after), after];
        const edited = editText(commented, slim, full, room.body);
        if (edited === null) throw new Error('The file could not be edited.');
        const kept = Object.keys(readText(commented, room.body).values).filter(
          (field) => after[field] !== undefined && field !== room.body,
        );
        for (const field of kept) expect(edited).toContain(`# about ${field} of this file`);
        expect(edited).toContain('# at the top of this file');
        fc.pre(readsAs(edited, after));
      }),
      { numRuns: 150, maxSkipsPerRun: 1 },
    );
  });
});

/** A comment at the top and one before each field, as a person writes them. */
function withComments(file: string, body: string | null): string {
  const front = body === null ? file : (/^---\n([\s\S]*?)^---\n/m.exec(file)?.[1] ?? '');
  const document = parseDocument(front);
  const map = document.contents as unknown as { items: { key: { value: unknown; commentBefore?: string } }[] };
  for (const { key } of map.items) key.commentBefore = ` about ${String(key.value)} of this file`;
  document.commentBefore = ' at the top of this file';
  const yaml = document.toString({ lineWidth: 0 });
  return body === null ? yaml : `---\n${yaml}---\n${file.slice(`---\n${front}---\n`.length)}`;
}

describe('reading', () => {
  const SQL = ROOMS.find(({ kind }) => kind === 'tool')!;
  const fault = (file: string): [number, string] => {
    try {
      readText(file, SQL.body);
    } catch (error) {
      if (error instanceof TextFault) return [error.line, error.message];
      throw error;
    }
    return [0, ''];
  };

  test.each([
    ['select 1', 1, 'between two lines of three hyphens'],
    ['---\nname: a\nselect 1', 1, 'between two lines of three hyphens'],
    ['---\nname: a\n  b: [1\n---\nselect 1', 2, 'cannot be read'],
    ['---\nname: a\nname: b\n---\nselect 1', 3, 'unique'],
    ['---\n- a\n---\nselect 1', 2, 'field: value'],
    ['---\n---\nselect 1', 2, 'field: value'],
    ['---\nname: !!python/object x\n---\nselect 1', 2, 'cannot be read'],
    ['---\nname: a\nsql_query: select 2\n---\nselect 1', 3, 'below the front matter'],
    ['---\nname: a\ndescription: "\\0"\n---\nselect 1', 3, 'NUL'],
    ['---\nname: a\nmax_rows: .inf\n---\nselect 1', 3, 'too large'],
  ])('names the line of what is wrong: %j', (file, line, message) => {
    expect(fault(file)).toEqual([line, expect.stringContaining(message)]);
  });

  test('takes Windows line ends, a byte order mark and a missing last line break', () => {
    const read = (file: string) => readText(file, 'sql_query').values;
    expect(read('\uFEFF---\r\nname: a\r\n---\r\nselect 1\r\n')).toEqual({ name: 'a', sql_query: 'select 1' });
    expect(read('---\nname: a\n---\nselect 1')).toEqual({ name: 'a', sql_query: 'select 1' });
    expect(read('---\nname: a\n---\n')).toEqual({ name: 'a' });
  });

  test('knows the line of each field, and of the body', () => {
    const { lineOf } = readText(
      '---\n# a\nname: a\nparameters:\n  - name: x\n    type: string\n  - name: y\n---\nselect 1\n',
      'sql_query',
    );
    const lines = [
      'name',
      'parameters',
      'parameters.0',
      'parameters.0.type',
      'parameters.1.name',
      'parameters.1.type',
      'sql_query',
      'tags',
    ];
    expect(lines.map(lineOf)).toEqual([3, 4, 5, 6, 7, 7, 9, 3]);
  });
});

test('file names are safe on every system and differ without regard to case', () => {
  fc.assert(
    fc.property(
      fc.array(fc.oneof(text(1), fc.constantFrom('a', 'A', '../../etc/passwd', 'CON', 'nul.txt', '.hidden', 'C:\\x', '..')), {
        maxLength: 8,
      }),
      (names) => {
        const taken = new Set<string>();
        const files = names.map((called) => fileNameOf(called, '.yaml', taken));
        expect(new Set(files.map((file) => file.toLowerCase())).size).toBe(files.length);
        for (const file of files) {
          expect(file).toMatch(/^[\p{L}\p{N}_][\p{L}\p{N}._ -]*\.yaml$|^[^.\s/\\:][^/\\:]*\.yaml$/u);
          expect(Buffer.byteLength(file)).toBeLessThan(255);
          expect(file).not.toMatch(/^(?:con|nul|aux|prn)\./i);
        }
      },
    ),
  );
  expect(fileNameOf('../../etc/passwd', '.yaml', new Set())).toBe('etc-passwd.yaml');
});
