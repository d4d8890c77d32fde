import { expect, test } from 'bun:test';
import { loggedFault } from '#mcp-host/call/failure.ts';
import { processorMs } from '#test/support/processor-time.ts';

const logged = (text: string, values: unknown): string =>
  loggedFault({ code: 'sql_error', text, in_arguments: false }, null, values).message;
const VERY_LONG = Array.from({ length: 2_000 }, (_, n) => `word${n}`).join(' ');
const LONG = `${'a'.repeat(40)}-secret-${'b'.repeat(60)}`;

test.each([
  ['what was sent', 'invalid input: "alice@corp.com"', [{ mail: 'alice@corp.com' }], 'invalid input: "…"'],
  ['what came from the credential', 'invalid input: "alice@corp.com"', [{}, ['alice@corp.com']], 'invalid input: "…"'],
  [
    'a claim that a parameter takes',
    "no such role 'tenant-4711'",
    [{}, { tenants: ['tenant-4711'] }, undefined],
    "no such role '…'",
  ],
  ['a short word in quotes only', "column is 'web' of web", [{ channel: 'web' }], "column is '…' of web"],
  [
    'what a database shortens',
    `Duplicate entry '${LONG.slice(0, 64)}' for key 'mail'`,
    [{ LONG }],
    "Duplicate entry '…' for key 'mail'",
  ],
  ['a part that was not understood', 'Token "secret-bbbb" is invalid.', [{ json: `{"x": ${LONG}}` }], 'Token "…" is invalid.'],
  [
    'what lies deep in an argument',
    'invalid input: "078-05-1120"',
    [{ data: { a: { b: { c: { d: [[{ ssn: '078-05-1120' }]] } } } } }],
    'invalid input: "…"',
  ],
  [
    'what stands behind many others',
    'invalid input: "alice@corp.com"',
    [{ list: [...Array.from({ length: 500 }, (_, n) => n), 'alice@corp.com'] }],
    'invalid input: "…"',
  ],
  [
    'anything, when there are too many values',
    'invalid input: "alice@corp.com"',
    [{ list: [...Array.from({ length: 5_000 }, (_, n) => n), 'alice@corp.com'] }],
    'The database rejected the statement. Its message is left out, because the call sent too many values to remove from it.',
  ],
  [
    'what a database shortens without an end',
    `Incorrect integer value: '${LONG.slice(0, 60)}`,
    [{ LONG }],
    "Incorrect integer value: '…",
  ],
  [
    'the beginning of what is longer than a message',
    `invalid input syntax for type integer: "${VERY_LONG.slice(0, 3_900)}.`,
    [{ VERY_LONG }],
    'invalid input syntax for type integer: "…',
  ],
  [
    'the beginning of such a one with quotes in it',
    `can't read "it's "my" ${VERY_LONG}`,
    [{ value: `it's "my" ${VERY_LONG}` }],
    'can\'t read "…',
  ],
  [
    'lines that stand on one',
    'invalid input: "secret one secret two"',
    [{ v: 'secret one\n  secret two' }],
    'invalid input: "…"',
  ],
  ['lines outside of quotes', 'invalid input secret one secret two', [{ v: 'secret one\n  secret two' }], 'invalid input …'],
  ['what a database escapes', "Cannot parse 'secret\\none\\'s'", [{ v: "secret\none's" }], "Cannot parse '…'"],
  ['a path whose strokes it doubles', "No file 'C:\\\\new\\\\secret'", [{ v: 'C:\\new\\secret' }], "No file '…'"],
  ['quotes that it doubles', "Cannot parse 'secret''s value'", [{ v: "secret's value" }], "Cannot parse '…'"],
])('the log keeps no value: %s', (_, text, values, kept) => {
  expect(logged(text, values)).toBe(kept);
});

test('a failed call with many long values is logged quickly, and none of their parts is kept', () => {
  const long = (n: number) => `${'x'.repeat(10_000)}secret-${n}${'y'.repeat(10_000)}`;
  const values = Array.from({ length: 900 }, (_, n) => long(n));
  const text = Array.from({ length: 300 }, (_, n) => `"secret-${n}y" '${'z'.repeat(6)}'`).join(' ');
  const began = processorMs();
  const message = logged(text, [{ values }]);
  expect(processorMs() - began).toBeLessThan(500);
  expect(message).toStartWith('"…"');
  expect(message).not.toContain('secret');
});

test('a part of one long value is left out wherever it stands there', () => {
  const value = `${'x'.repeat(500_000)}secret-part${'y'.repeat(500_000)}`;
  expect(logged('invalid input "secret-part" in column "address"', [{ value }])).toBe('invalid input "…" in column "address"');
});

test('a value of blank lines takes nothing from a message', () => {
  expect(logged('no such column: orders', [{ a: '\n\n\n\n\n\n', b: '  \n    \n' }])).toBe('no such column: orders');
});

test('the log keeps what is no value', () => {
  const text = 'column "channel" does not exist; did you mean "canal"?';
  expect(logged(text, [{ state: 'open', note: 'a long text about something else' }])).toBe(text);
});
