import { describe, expect, test } from 'bun:test';
import { fc } from '#test/support/chance.ts';
import { renderTemplate } from '#core/lib/template/evaluate.ts';
import { parseTemplate } from '#core/lib/template/parse.ts';
import { nunjucks } from '#test/support/nunjucks.ts';

const environment = new nunjucks.Environment(null, { autoescape: false });
const variables = {
  rows: [
    { id: 1, name: 'bob', qty: 2, city: 'Rome' },
    { id: 2, name: 'Alice', qty: 5, city: 'Oslo' },
    { id: 3, name: 'carol', qty: 3, city: 'Bern' },
  ],
  a: 7,
  b: 3,
  s: 'hello big World',
};
const both = (text: string) => {
  expect(`${text}\n${renderTemplate(parseTemplate(text), variables)}`).toBe(
    `${text}\n${environment.renderString(text, variables)}`,
  );
};

describe('templates say what nunjucks says', () => {
  const table = [
    '| id | name |\n| --- | --- |\n{% for row in rows %}| {{ row.id }} | {{ row.name | upper }} |\n{% endfor %}',
    '{% for row in rows %}{{ loop.index }}/{{ loop.length }} {{ loop.first }} {{ loop.last }} {{ loop.revindex0 }}{% if not loop.last %}, {% endif %}{% endfor %}',
    '{% for k, v in {"a": 1, "b": 2} %}{{ k }}={{ v }};{% endfor %}',
    '{% for x, y in [[1, 2], [3, 4]] %}{{ x + y }} {% else %}none{% endfor %}{% for x in [] %}{% else %}none{% endfor %}',
    '{% if a > b and s %}x{% elif a %}y{% else %}z{% endif %}',
    '{% set total = a * b %}{{ total }}{% set text %}[{{ total }}]{% endset %}{{ text }}',
    '{% filter upper %}abc {{ s }}{% endfilter %}',
    '{% raw %}{{ a }}{% endraw %}{% verbatim %}{% if %}{% endverbatim %}{# note #}',
    'a {%- if a -%} b {%- endif %} c {{- a -}} d',
    '{{ rows[0].name }}{{ rows[1]["name"] }}{{ rows.length }}{{ s.length }}{{ nothing }}{{ rows[9] }}',
    '{{ "yes" if a else "no" }}{{ "yes" if nothing }}{{ nothing or "default" }}',
    '{{ 7 // 2 }} {{ 7 % 4 }} {{ 2 ** 5 }} {{ 7 / 2 }} {{ -a + 1 }} {{ 1 + 2 * 3 - 4 }} {{ "a" ~ 1 ~ a }}',
    '{{ 3 in [1, 2, 3] }} {{ "big" in s }} {{ "name" in rows[0] }} {{ 4 not in [1] }}',
    '{{ s | upper }}{{ s | lower }}{{ s | capitalize }}{{ s | title }}{{ s | length }}{{ s | replace("l", "L") }}{{ s | replace("l", "L", 1) }}',
    '{{ [3, 1, 2] | sort | join(",") }}{{ ["b", "A", "c"] | sort | join }}{{ rows | join("-", "name") }}{{ [1, 2] | reverse | join }}',
    '{{ [1, 2, 3] | first }}{{ [1, 2, 3] | last }}{{ "abc" | reverse }}{{ [1, 2] | sum }}{{ rows | sum("qty") }}',
    '{% for line in [1, 2, 3, 4, 5] | batch(2, "-") %}{{ line | join(",") }};{% endfor %}{% for part in [1, 2, 3, 4, 5, 6, 7] | slice(3) %}{{ part | join(",") }};{% endfor %}',
    '{{ "  x " | trim }}{{ -5 | abs }}{{ "3.7" | float }}{{ "42" | int }}{{ 4.567 | round(2) }}{{ 4.2 | round(0, "ceil") }}{{ 4.7 | round(0, "floor") }}',
    '{{ "a\nb" | indent(2) }}{{ "a\nb" | indent(2, true) }}{{ "a b  c" | wordcount }}{{ "<a>" | striptags }}{% for k, v in {"b": 1, "a": 2} | dictsort %}{{ k }}{{ v }}{% endfor %}',
    '{{ a is odd }}{{ b is even }}{{ a is defined }}{{ zz is undefined }}{{ s is string }}{{ a is number }}{{ 9 is divisibleby(3) }}{{ "AB" is upper }}{{ "ab" is lower }}{{ none is none }}',
    '{{ rows | selectattr("qty") | length }}{{ [1, 2, 3, 4] | select("odd") | join }}{{ [1, 2, 3] | reject("odd") | join }}{{ rows[0] | dump }}{{ nothing | default("d") }}{{ "" | default("e", true) }}',
    '{% for i in range(3) %}{{ i }}{% endfor %}{% for i in range(2, 10, 3) %}{{ i }}{% endfor %}',
  ];
  for (const text of table) test(text.replaceAll('\n', '\\n').slice(0, 100), () => both(text));
});

type Grammar = {
  number: string;
  text: string;
  truth: string;
  block: string;
};

/** Types are kept apart, so that nothing is generated about which Jinja2 and nunjucks disagree. */
const { block } = fc.letrec<Grammar>((tie) => ({
  number: fc.oneof(
    { maxDepth: 4 },
    fc.nat({ max: 50 }).map(String),
    fc.constantFrom('a', 'b', 'rows.length', 'rows[0].qty', 's | length', '[4, 2, 9] | first', 'rows | sum("qty")'),
    fc.tuple(tie('number'), fc.constantFrom('+', '-', '*'), tie('number')).map(([x, op, y]) => `(${x}) ${op} (${y})`),
    fc.tuple(tie('number'), fc.nat({ max: 9 })).map(([x, y]) => `((${x}) | abs) // ${y + 1}`),
    fc.tuple(tie('number'), fc.nat({ max: 9 })).map(([x, y]) => `((${x}) | abs) % ${y + 1}`),
    fc.tuple(tie('truth'), tie('number'), tie('number')).map(([c, x, y]) => `((${x}) if ${c} else (${y}))`),
  ),
  text: fc.oneof(
    { maxDepth: 4 },
    fc.stringMatching(/^[a-zA-Z ,.<>&é-]{0,8}$/).map((text) => `"${text}"`),
    fc.constantFrom('s', 'rows[1].name', 'rows[2]["city"]', '[1, "x"] | join("-")'),
    fc.tuple(tie('text'), tie('number')).map(([x, y]) => `(${x}) ~ (${y})`),
    fc
      .tuple(tie('text'), fc.constantFrom('upper', 'lower', 'capitalize', 'trim', 'replace("l", "--")', 'default("d", true)'))
      .map(([x, f]) => `("" ~ (${x})) | ${f}`),
  ),
  truth: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom('true', 'false', 'a is odd', 'nothing is defined', 'not s', '3 in [1, 3]'),
    fc
      .tuple(tie('number'), fc.constantFrom('<', '>', '<=', '>=', '==', '!='), tie('number'))
      .map(([x, op, y]) => `((${x}) ${op} (${y}))`),
    fc.tuple(tie('truth'), fc.constantFrom('and', 'or'), tie('truth')).map(([x, op, y]) => `(${x} ${op} ${y})`),
    tie('truth').map((x) => `(not ${x})`),
  ),
  block: fc.oneof(
    { maxDepth: 4 },
    fc.stringMatching(/^[a-z \n]{0,6}$/),
    fc.oneof(tie('number'), tie('text'), tie('truth')).map((value) => `{{ ${value} }}`),
    fc.tuple(tie('block'), tie('block')).map(([x, y]) => x + y),
    fc
      .tuple(tie('truth'), tie('block'), tie('block'), fc.constantFrom('', '-'))
      .map(([c, x, y, dash]) => `{%${dash} if ${c} ${dash}%}${x}{% else %}${y}{%${dash} endif %}`),
    fc
      .tuple(fc.constantFrom('rows', 'rows | reverse', '[]'), tie('block'))
      .map(([list, x]) => `{% for row in ${list} %}{{ loop.index }}{{ row.name }}${x}{% else %}none{% endfor %}`),
    fc.tuple(tie('text'), tie('block')).map(([value, x]) => `{% set local = ${value} %}{{ local }}${x}`),
    tie('block').map((x) => `{% filter upper %}${x}{% endfilter %}`),
  ),
}));

test('generated templates say what nunjucks says', () => {
  fc.assert(fc.property(block, both), { numRuns: 1_500 });
}, 60_000);
