import { describe, expect, test } from 'bun:test';
import { loadTemplate, renderTemplate } from '#core/lib/template/evaluate.ts';
import { parseTemplate } from '#core/lib/template/parse.ts';
import { JINJA2_CASES, JINJA2_ROWS } from './jinja2-cases.ts';

const ORDERS = [
  { id: 1, name: 'bob', price: '12.50', note: null, at: '2024-02-29T13:04:05.123456Z' },
  { id: 2, name: 'A|b', price: '9.25', note: 'two\nlines', at: '1999-12-31' },
];
const render = (text: string, variables: Record<string, unknown> = { rows: ORDERS }) =>
  renderTemplate(parseTemplate(text), variables);

describe('templates say what Jinja2 says', () => {
  for (const [template, output] of JINJA2_CASES) {
    test(template.replaceAll('\n', '\\n'), () => {
      expect(render(template, { rows: JINJA2_ROWS, params: { a: 1 }, vars: {} })).toBe(output);
    });
  }
});

describe('documented differences from Jinja2', () => {
  const table: readonly (readonly [sentence: string, template: string, output: string])[] = [
    [
      'lists and objects print compact JSON in the order of their keys',
      "{{ [1, 'a', none] }}{{ {'b': 1, 'a': true} }}",
      '[1,"a",null]{"b":1,"a":true}',
    ],
    ['none and missing values print nothing', '{{ none }}{{ nothing }}{{ rows[0].note }}', ''],
    ['booleans print in lower case', '{{ true }} {{ 1 == 2 }}', 'true false'],
    ['a whole number has no point', '{{ 4 / 2 }} {{ 1.0 }} {{ 2.6 | round }}', '2 1 3'],
    ['an attribute of a missing value is missing', '{{ nothing.at.all }}{{ rows[9].id }}', ''],
    [
      'none equals a missing value',
      '{{ nothing == none }} {{ nothing is none }} {{ rows[0].note is defined }}',
      'true true true',
    ],
    ['default replaces none too', "{{ rows[0].note | default('-') }}", '-'],
    ['arithmetic with none is none', '{{ rows[0].note + 1 }}{{ -rows[0].note }}', ''],
    ['none is neither less nor greater', '{{ none < 1 }} {{ none >= 1 }} {{ 1 > nothing }}', 'false false false'],
    ['none sorts last', "{{ [none, 2, 'a', 1] | sort }}", '[1,2,"a",null]'],
    ['none is passed over by sum, min and max', '{{ [none, 2, 1] | sum }}{{ [none, 2] | min }}{{ [none, 2] | max }}', '322'],
    [
      'the text of a number counts as a number against a number',
      '{{ rows[0].price > 9 }} {{ rows[0].price * 2 }} {{ rows[0].price + 1 }}',
      'true 25 13.5',
    ],
    ['two texts compare as texts', "{{ '12.50' < '9.25' }}", 'true'],
    [
      'numeric=true sorts texts as numbers',
      "{{ rows | sort(attribute='price', numeric=true) | map(attribute='id') | join }}{{ (rows | max(attribute='price', numeric=true)).id }}",
      '211',
    ],
    [
      'a sum of decimal texts is exact',
      "{{ ['0.1', '0.2'] | sum }} {{ rows | sum('price') }} {{ ['9007199254740993', 1] | sum }}",
      '0.3 21.75 9007199254740994',
    ],
    [
      'halves are rounded away from zero',
      "{{ 2.5 | round }} {{ -2.5 | round }} {{ '1.005' | round(2) }} {{ 1250 | round(-2) }}",
      '3 -3 1.01 1300',
    ],
    ['"~" binds weaker than "+"', '{{ 1 ~ 2 + 3 }}', '15'],
    [
      'two names go through an object without items()',
      '{% for key, value in {"a": 1, "b": 2} %}{{ key }}{{ value }}{% endfor %}',
      'a1b2',
    ],
    ['an object unpacks to its values', '{% for id, name in [{"id": 1, "name": "x"}] %}{{ id }}{{ name }}{% endfor %}', '1x'],
    ['a key without quotes is its own name', '{{ {a: 1} }}', '{"a":1}'],
    ['text has length as an attribute', "{{ 'abc'.length }}{{ rows.length }}", '32'],
    [
      'a large integer stays the text that it is',
      "{{ '9007199254740993' | int }} {{ '%d' | format('9007199254740993') }}",
      '9007199254740993 9007199254740993',
    ],
    [
      'a set inside a loop ends with the turn',
      '{% set n = 0 %}{% for r in rows %}{% set n = n + 1 %}{{ n }}{% endfor %}{{ n }}',
      '110',
    ],
  ];
  for (const [sentence, template, output] of table) test(sentence, () => expect(render(template)).toBe(output));
});

describe('filters for rows', () => {
  const table: readonly (readonly [template: string, output: string])[] = [
    ["{{ rows | csv('id,note') }}", 'id,note\r\n1,\r\n2,"two\nlines"\r\n'],
    ["{{ rows | csv(['name'], header=false, separator='|') }}", 'bob\r\n"A|b"\r\n'],
    ["{{ [[1, 'a\"b'], [2, '']] | csv(header=false) }}", '1,"a""b"\r\n2,""\r\n'],
    [
      "{{ rows | markdown_table('id,name,note') }}",
      '| id | name | note |\n| --- | --- | --- |\n| 1 | bob |  |\n| 2 | A\\|b | two<br>lines |',
    ],
    ['{{ [] | markdown_table }}{{ [] | csv }}', '\r\n'],
    ["{{ rows[0].at | date('%d.%m.%Y %H:%M:%S.%f %z') }}", '29.02.2024 13:04:05.123456 +0000'],
    ["{{ rows[0].at | date('%-d %B %y, %-I %p, %a %j') }}", '29 February 24, 1 PM, Thu 060'],
    [
      "{{ rows[1].at | date }} {{ 'infinity' | date }} {{ '2023-02-29' | date('%d') }} {{ none | date }}",
      '1999-12-31 infinity 2023-02-29 ',
    ],
    ["{{ '2024-01-01 10:00:00+02:00' | strftime('%H %z') }}", '10 +0200'],
    [
      "{{ 1234567.5 | format_number(2) }} {{ '-1234' | format_number(thousands='.') }} {{ 0.5 | format_number(1, point=',') }}",
      '1,234,567.50 -1.234 0,5',
    ],
    ['{{ {"a": [1]} | tojson(2) }}', '{\n  "a": [\n    1\n  ]\n}'],
    ["{{ 'a\nb' | nl2br }}", 'a<br>\nb'],
    ["{{ '%g %g %g' | format(0.00001234, 1234567, 0.5) }}", '1.234e-05 1.23457e+06 0.5'],
    ['{{ rows[0].keys() | join(",") }} {{ rows[1].values() | first }}', 'id,name,price,note,at 2'],
  ];
  for (const [template, output] of table) test(template.replaceAll('\n', '\\n'), () => expect(render(template)).toBe(output));
});

describe('characters are whole, also those that JavaScript counts as two', () => {
  const text = '😀a𐐨b😀';
  test.each([
    ['{{ t[0] }}|{{ t[1] }}|{{ t[-1] }}|{{ t[9] }}', '😀|a|😀|'],
    ['{{ t.length }}|{{ t | length }}', '5|5'],
    ['{{ t[1:3] }}|{{ t[:-1] }}|{{ t[-2:] }}|{{ t[3:1] }}', 'a𐐨|😀a𐐨b|b😀|'],
    ["{{ t | replace('', '-') }}|{{ t | replace('', '-', 2) }}", '-😀-a-𐐨-b-😀-|-😀-a𐐨b😀'],
    ["{{ (t * 3) | wordwrap(4, true, '/') }}", '😀a𐐨b/😀😀a𐐨/b😀😀a/𐐨b😀'],
    ["{{ t | truncate(3, true, '', 0) }}|{{ t | truncate(5) }}", '😀a𐐨|😀a𐐨b😀'],
    ["{{ '😀😀' | center(4) }}|", ' 😀😀 |'],
    ["{{ t | trim('😀') }}|{{ t.strip('😁') }}", 'a𐐨b|😀a𐐨b😀'],
    ["{{ '%.2s' | format(t) }}|{{ '𐐨A' | capitalize }}", '😀a|𐐀a'],
    // Half a character came in.
    ['{{ half }}!{{ half | tojson }}', '\uFFFDx!"\\ud83dx"'],
  ])('%s', (template, output) => {
    expect(render(template, { t: text, half: '\ud83dx' })).toBe(output);
  });
});

test('white space control and comments work on every kind of tag', () => {
  expect(render('a \n{%- set x = 1 -%}\n b {#- note -#} c {{- x -}} d {%- raw -%} {{ }} {%- endraw -%} e')).toBe('abc1d{{ }}e');
});

test('raw text keeps tags and lines', () => {
  expect(render('{% raw %}\n{{ a }}{% if %}\n{% endraw %}{% verbatim %}{{ b }}{% endverbatim %}')).toBe(
    '\n{{ a }}{% if %}\n{{ b }}',
  );
});

test('a prompt sees its arguments as variables', () => {
  expect(render('Hello {{ name }}, {{ topic | default("anything", true) }}', { name: 'Ann', topic: '' })).toBe(
    'Hello Ann, anything',
  );
});

test('a parsed template is plain JSON and renders the same after a round trip', () => {
  const text = "{% for g, l in rows | groupby('name') if l %}{{ loop.index }}{{ g }}{{ l[0:1] | tojson }}{% else %}-{% endfor %}";
  const template = parseTemplate(text);
  const stored = JSON.parse(JSON.stringify(template.ast)) as typeof template.ast;
  expect(stored).toEqual(template.ast);
  expect(renderTemplate(loadTemplate(stored), { rows: ORDERS })).toBe(renderTemplate(template, { rows: ORDERS }));
});

test('one template renders many times with nothing left over', () => {
  const template = parseTemplate(
    '{% if on %}{% set x = 1 %}{% endif %}{{ x }}{% set ns = namespace(n=0) %}{% set ns.n = ns.n + 1 %}{{ ns.n }}',
  );
  expect([true, false, true].map((on) => renderTemplate(template, { on }))).toEqual(['11', '1', '11']);
});

test('a variable set in a branch falls back to the one outside', () => {
  const text =
    '{% set y = "outer" %}{% for i in [1, 2] %}{% if i == 2 %}{% set y = "inner" %}{% endif %}{{ y }} {% endfor %}{{ y }}';
  expect(render(text)).toBe('outer inner outer');
});

test('what comes from outside is there on every turn of a loop', () => {
  const text =
    '{% for i in [1, 2] %}{% set local = outside %}{{ local }}{% for j in [1, 2] %}{{ outside }}{% endfor %} {% endfor %}';
  expect(render(text, { outside: 'x' })).toBe('xxx xxx ');
});
