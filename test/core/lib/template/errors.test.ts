import { describe, expect, test } from 'bun:test';
import { renderTemplate } from '#core/lib/template/evaluate.ts';
import { parseTemplate } from '#core/lib/template/parse.ts';
import { AppError } from '#core/errors.ts';

function refusal(work: () => unknown): AppError {
  try {
    work();
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
  throw new Error('nothing was refused');
}

describe('a template that cannot be read is refused with the place and a sentence', () => {
  const table: readonly (readonly [template: string, sentence: string, line: number, column: number])[] = [
    ['{{ a b }}', 'The expression should end here with "}}"', 1, 6],
    ['one\n{% if a b %}{% endif %}', 'The tag "if" should end here with "%}"', 2, 11],
    ['{% for a in b %}x', 'The tag "for" is never closed with "endfor"', 1, 4],
    ['\n {% if a %}{% for b in c %}x{% endfor %}', 'The tag "if" is never closed with "endif"', 2, 5],
    ['{% if a %}{% else %}x', 'The tag "if" is never closed with "endif"', 1, 4],
    ['{{ a', 'The template ends inside a tag', 1, 5],
    ['a {%', 'The template ends inside a tag', 1, 5],
    ['{% raw %}x', 'The tag "raw" is never closed with "endraw"', 1, 8],
    ['{# a', 'A comment is opened with "{#" or closed with "#}" without the other', 1, 5],
    ['{% endfor %}', '"endfor" closes a tag that is not open', 1, 4],
    ['{% if a %}\n{% for b in c %}\n{% endif %}', '"endif" closes a tag that is not open', 3, 4],
    ['{% 1 %}', 'The name of a tag is expected after "{%"', 1, 4],
    ['{{ 1 + }}', 'An expression is expected here', 1, 8],
    ['{{ rows.0 }}', 'A name is expected after the dot; an item of a list is written [0]', 1, 9],
    ['{{ rows[] }}', 'An index is expected in the brackets', 1, 8],
    ['{{ rows[1 2] }}', 'A comma is expected here', 1, 11],
    ['{{ rows[1:2:3:4] }}', 'A slice is written [start:stop:step]', 1, 8],
    ['{{ {"a" 1} }}', 'A colon is expected after the key of an object', 1, 4],
    ['{{ a is }}', 'The name of a test is expected after "is"', 1, 9],
    ['{% for 1 in a %}{% endfor %}', 'A variable name is expected after "for"', 1, 10],
    ['{% for a b %}{% endfor %}', 'The word "in" is expected in a "for" tag', 1, 4],
    ['{{ a | nothing }}', 'There is no filter "nothing" in templates', 1, 8],
    ['{{ a is nothing }}', 'There is no test "nothing" in templates', 1, 9],
    ['{{ a.nothing() }}', 'There is no method "nothing" in templates', 1, 13],
    ['{{ nothing() }}', 'Only the documented functions can be called in templates', 1, 11],
    ['{{ a | join(1, 2, 3) }}', '"join": Too many arguments were given: at most 2 are taken', 1, 8],
    ['{{ a | join(x=1) }}', 'The filter "join" has no argument "x"', 1, 8],
    ['{{ a | map("nothing") }}', '"map" was given the name of a filter that does not exist', 1, 8],
    ['{{ a | selectattr("b", "nothing") }}', '"selectattr" was given the name of a test that does not exist', 1, 8],
    ['{{ range() }}', '"range" was not given the arguments that it takes', 1, 9],
    ['{{ a | replace(r/x/g, "") }}', 'Regular expressions are not available in templates', 1, 16],
    ['{{ 12345678901234567890 }}', 'This number is too large to be exact; write it as a text', 1, 4],
    ['{{ a.constructor }}', 'This name cannot be read in templates', 1, 6],
    ['{{ {"__proto__": 1} }}', 'This name cannot be a key in templates', 1, 5],
  ];
  for (const [template, sentence, line, column] of table) {
    test(template.replaceAll('\n', '\\n'), () => {
      const error = refusal(() => parseTemplate(template));
      expect(error.code).toBe('invalid');
      expect(error.detail).toBe(`${sentence} (line ${line}, column ${column} of the template).`);
      const before = template.split('\n').slice(0, line - 1);
      expect(error.position).toBe(Math.min(template.length, before.join('\n').length + (line > 1 ? 1 : 0) + column - 1));
    });
  }

  for (const tag of [
    'include',
    'import',
    'from',
    'extends',
    'block',
    'macro',
    'call',
    'asyncEach',
    'asyncAll',
    'ifAsync',
    'switch',
    'with',
    'do',
  ]) {
    test(`the tag ${tag} is not available`, () => {
      const error = refusal(() => parseTemplate(`x\n{% ${tag} "a" %}{% end${tag} %}`));
      expect(error.detail).toBe(`The tag "${tag}" is not available in templates (line 2, column 4 of the template).`);
    });
  }
});

test('a template longer than 100 000 characters is refused', () => {
  expect(refusal(() => parseTemplate('x'.repeat(100_001))).detail).toBe('A template has at most 100 000 characters.');
  expect(renderTemplate(parseTemplate('x'.repeat(100_000)), {})).toHaveLength(100_000);
});

describe('a template that fails while it runs says where and why', () => {
  const table: readonly (readonly [template: string, sentence: string])[] = [
    ['{{ 1 / 0 }}', 'A number was divided by zero; test the divisor first.'],
    ['{{ 1 // 0 }}', 'A number was divided by zero; test the divisor first.'],
    ['{{ "a" * "b" }}', 'A number is needed here, not a text.'],
    ['{{ "a" + 1 }}', '"+" cannot join a text and a number; "~" joins anything as text.'],
    ['{{ "a" < 1 }}', 'A number is needed here, not a text.'],
    ['{{ [] < 1 }}', 'A list and a number have no order.'],
    ['{{ 10 ** 400 }}', 'A calculation did not return a finite number.'],
    ['{% for a in 5 %}{% endfor %}', 'A number cannot be looped over; a list, an object or a text is needed.'],
    ['{% for a, b in [1] %}{% endfor %}', 'Every item must have 2 parts to be given 2 names.'],
    ['{% set a, b = [1] %}', 'A list of 2 items is needed to set 2 names.'],
    ['{% set a = {} %}{% set a.b = 1 %}', 'Only the attributes of a namespace() can be set.'],
    ['{{ namespace(a=1) }}', 'A namespace cannot be printed; print its attributes.'],
    ['{{ [1] | batch(0) }}', '"linecount" must be a whole number from 1 to 100000.'],
    ['{{ 1 | round(1, "up") }}', '"method" must be one of common, ceil, floor.'],
    ['{{ [1] | map(a) }}', 'There is no filter with that name; see the list in the documentation.'],
    ['{{ "%d" | format("x") }}', 'A number is needed here, not a text.'],
    ['{{ "%s %s" | format(1) }}', 'The format has more directives than values.'],
    [
      '{{ "x" | date("%Y") }}{{ "2024-01-01" | date("%Q") }}',
      'The date format has an unknown directive; see the list in the documentation.',
    ],
  ];
  for (const [template, sentence] of table) {
    test(template, () => {
      const error = refusal(() => renderTemplate(parseTemplate(`one\n${template}`), {}));
      expect([error.code, error.detail]).toEqual(['invalid', `Line 2 of the template: ${sentence}`]);
    });
  }
});

test('no message repeats a value of the rows', () => {
  const rows = [{ secret: 'hunter2-hunter2' }];
  for (const template of [
    '{{ rows[0].secret - 2 }}',
    '{{ rows[0].secret < 1 }}',
    '{{ rows | sum("secret") }}',
    '{{ rows | map(rows[0].secret) }}',
    '{{ "%d" | format(rows[0].secret) }}',
    '{{ rows | sort(attribute=rows) }}',
    '{{ 1 | round(0, rows[0].secret) }}',
    '{% for a in rows[0].secret.length %}{% endfor %}',
  ]) {
    expect(refusal(() => renderTemplate(parseTemplate(template), { rows })).detail).not.toContain('hunter2');
  }
});
