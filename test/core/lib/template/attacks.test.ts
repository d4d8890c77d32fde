import { describe, expect, test } from 'bun:test';
import { TEMPLATE_LIMITS } from '#core/lib/template/budget.ts';
import { renderMessages, renderTemplate } from '#core/lib/template/evaluate.ts';
import { parseTemplate } from '#core/lib/template/parse.ts';
import { AppError } from '#core/errors.ts';
import { processorMs } from '#test/support/processor-time.ts';

/** Everything a careless caller could hand over beside data. */
const world = globalThis as typeof globalThis & { escaped?: unknown };
const context = () => ({
  rows: [{ id: 1, name: 'a', run: () => 'escaped', when: new Date(0), bytes: new Uint8Array(4), list: [1, 2] }],
  params: { f: Date.now },
  vars: { nested: { deep: [() => 1] }, symbol: Symbol('s'), pattern: /x/ },
});

/** The output, or the refusal; anything else that is thrown fails the test. */
/** Its clock stands still: on a busy machine a second passes before any other limit is reached. */
const UNTIMED = { ...TEMPLATE_LIMITS, now: () => 0 };

function attempt(text: string, variables: Record<string, unknown> = context()): string | AppError {
  try {
    return renderTemplate(parseTemplate(text), variables, UNTIMED);
  } catch (error) {
    if (error instanceof AppError && error.code === 'invalid') return error;
    throw error;
  }
}

const SHELL = '("world.escaped = 1; return process")()';
const ESCAPES: readonly string[] = [
  `{{ range.constructor${SHELL}.pid }}`,
  `{{ dict.constructor${SHELL} }}`,
  `{{ namespace().constructor${SHELL} }}`,
  `{{ cycler().constructor${SHELL} }}`,
  `{{ joiner().constructor${SHELL} }}`,
  `{{ "x".constructor.constructor${SHELL} }}`,
  `{{ "x".sub.constructor${SHELL} }}`,
  `{{ "x"["con" + "structor"] }}`,
  `{{ "x"["con" ~ "structor"]["constructor"]${SHELL} }}`,
  `{{ (1).constructor.constructor${SHELL} }}`,
  `{{ 1["constructor"] }}`,
  `{{ true["con" + "structor"]["con" + "structor"] }}`,
  `{{ rows.map.constructor${SHELL} }}`,
  `{{ rows["map"]["con" + "structor"] }}`,
  `{{ rows[0].run }}`,
  `{{ rows[0].run() }}`,
  `{{ rows[0]["run"]() }}`,
  `{{ params.f }}`,
  `{{ params.f() }}`,
  `{{ params["f"]["cons" + "tructor"] }}`,
  `{{ vars.nested.deep[0] }}`,
  '{{ vars.nested.deep | first }}{{ vars.nested.deep | last }}{{ (vars.nested.deep | list)[0] }}',
  '{{ (vars.nested.deep | first) is defined }}{{ vars.nested.deep | map("default", "") | first }}',
  '{{ vars.nested.deep | map("tojson") | join }}{{ vars.nested.deep | map("string") | join }}',
  '{% for f in vars.nested.deep %}{{ f }}{{ f.name }}{% endfor %}',
  '{% for a, b in {"k": vars.nested.deep} %}{{ b[0] }}{% endfor %}{{ vars.nested.deep | join }}',
  `{{ vars.symbol }}`,
  `{{ vars.__proto__ }}`,
  `{{ vars["__pro" + "to__"] }}`,
  `{% set x = vars.__proto__ %}{{ x.__defineGetter__("p", range) }}`,
  `{% set x = vars["__pro" + "to__"] %}{% set x.polluted = 1 %}`,
  `{% set ns = namespace() %}{% set ns.__proto__ = {"polluted": 1} %}{{ vars.polluted }}`,
  `{% set ns = namespace(__proto__={"polluted": 1}) %}`,
  `{{ dict(__proto__=1) }}{{ dict(constructor=1) }}`,
  `{{ {"__pro" + "to__": {"polluted": 1}} }}`,
  `{{ {("__pro" + "to__"): {"polluted": 1}} }}`,
  `{{ toString.constructor${SHELL} }}`,
  `{{ constructor }}{{ hasOwnProperty }}{{ __defineGetter__ }}{{ valueOf }}`,
  `{{ this }}{{ globalThis }}{{ process }}{{ Bun }}{{ require }}{{ self }}{{ context }}{{ env }}{{ frame }}`,
  `{{ globalThis.process.exit() }}`,
  '{{ vars["\\\\\\",context,[world.escaped=1])),env.opts.autoescape);//"]() }}',
  '{{ [x\\, ")+(world.escaped=1)], env.opts.autoescape);//"] }}',
  '{{ x\\"+world.escaped }}',
  '{{ 1 | a\\"b }}',
  '{{ 1 is a\\"b }}',
  '{{ `${world.escaped = 1}` }}',
  '{{ r/x/.constructor }}',
  '{{ r/(a+)+$/ }}',
  `{{ ("x" | safe).constructor${SHELL} }}`,
  `{% macro m() %}{% endmacro %}{{ m.constructor${SHELL} }}`,
  `{% call range() %}{{ caller.constructor${SHELL} }}{% endcall %}`,
  `{{ caller() }}{{ super() }}`,
  '{% include "/etc/passwd" %}',
  '{% import "/etc/passwd" as p %}',
  '{% from "/etc/passwd" import x %}',
  '{% extends "/etc/passwd" %}',
  '{% block b %}{% endblock %}',
  '{% asyncEach x in rows %}{% endeach %}',
  '{% asyncAll x in rows %}{% endall %}',
  '{% for __proto__ in rows %}{% endfor %}',
  '{% for constructor, prototype in rows %}{% endfor %}',
  '{% set __proto__ = 1 %}',
  '{{ rows | map("constructor") | join }}',
  '{{ rows | map("__pro" + "to__") | join }}',
  '{{ rows | map("to" + "String") | join }}',
  '{{ rows | map(attribute="constructor") | join }}{{ rows | map(attribute="__proto__.x") | join }}',
  '{{ rows | map(attribute="run") | join }}{{ rows | map(attribute="list.constructor") | join }}',
  '{{ rows | selectattr("constructor") | list | length }}',
  '{{ rows | select("constr" + "uctor") }}',
  '{{ rows | groupby("constructor") | length }}',
  '{{ rows | sort(attribute="__proto__") | length }}',
  '{{ rows[0].get("constructor") }}{{ rows[0].get("run") }}{{ rows[0].get("__proto__") }}',
  '{{ rows[0].items.constructor }}',
  '{{ rows[0].when.getTime }}{{ rows[0].when.constructor }}',
  '{{ rows[0].bytes.buffer }}',
  '{{ loop.constructor }}{% for r in rows %}{{ loop["con" + "structor"] }}{{ loop.cycle }}{% endfor %}',
  '{% for r in rows %}{{ loop.cycle.constructor("x")() }}{% endfor %}',
  '{{ vars.pattern.exec }}{{ vars.pattern.source }}',
  '{{ "constructor" in vars }}{{ "toString" in vars }}{{ "__proto__" in vars }}',
  '{{ rows.length.constructor }}{{ rows.push(1) }}',
  '{{ rows.concat }}{{ rows.at }}{{ [].flat }}{{ {}.toString }}',
];

describe('no template reaches anything but data', () => {
  for (const text of ESCAPES) {
    test(text.slice(0, 90), () => {
      const result = attempt(text);
      if (typeof result === 'string') {
        expect(result.replaceAll('false', '')).toMatch(/^\d?$/);
      }
      expect(world.escaped).toBeUndefined();
      expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
    });
  }

  test('printing an object that holds a function is refused', () => {
    expect(attempt('{{ rows }}')).toBeInstanceOf(AppError);
    expect(attempt('{{ rows | tojson }}', { rows: [{ toJSON: () => 'escaped' }] })).toBeInstanceOf(AppError);
  });

  test('what is evaluated is never changed', () => {
    const rows = Object.freeze([Object.freeze({ id: 2 }), Object.freeze({ id: 1 })]);
    const text =
      "{{ rows | sort(attribute='id') | reverse | list | length }}{{ rows | batch(5, 'x') | length }}{{ rows | slice(3, 'x') | length }}{{ rows | unique | length }}";
    expect(attempt(text, { rows })).toBe('2132');
    expect(rows).toEqual([{ id: 2 }, { id: 1 }]);
  });
});

const detail = (text: string) => (attempt(text) as AppError).detail;
const big = (count: number, text: string) => text.repeat(count);
const BOMBS: Readonly<Record<string, string>> = {
  'loops in loops':
    '{% for a in range(1000) %}{% for b in range(1000) %}{% for c in range(1000) %}{{ c }}{% endfor %}{% endfor %}{% endfor %}',
  'loops without output': '{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}',
  'a giant range': '{{ range(1000000000) | length }}',
  'a range without end': '{{ range(0, 9007199254740991, 1) | length }}',
  'many ranges': big(2_000, '{{ range(100000) | length }}'),
  'a doubled text': '{% set s = "ab" %}' + big(40, '{% set s = s ~ s %}') + '{{ s | length }}',
  'a doubled text by capture':
    '{% set s %}ab{% endset %}' + big(40, '{% set s %}{{ s }}{{ s }}{% endset %}') + '{{ s | length }}',
  'a doubled list': '{% set s = [1] %}' + big(40, '{% set s = s + s %}') + '{{ s | length }}',
  'a doubled structure': '{% set s = [1] %}' + big(60, '{% set s = [s, s] %}') + '{{ s | tojson | length }}',
  'a doubled structure compared':
    '{% set a = [1] %}{% set b = [1] %}' + big(60, '{% set a = [a, a] %}{% set b = [b, b] %}') + '{{ a == b }}',
  'a doubled structure sorted':
    '{% set a = [1] %}{% set b = [1] %}' + big(60, '{% set a = [a, a] %}{% set b = [b, b] %}') + '{{ [a, b] | sort | length }}',
  'a structure nested too deeply': '{% set s = 1 %}' + big(500, '{% set s = [s] %}') + '{{ s }}',
  'a namespace that holds itself': '{% set n = namespace() %}{% set n.a = [n] %}{{ n.a }}',
  'a namespace that equals itself':
    '{% set n = namespace() %}{% set n.a = [n] %}{% set m = namespace() %}{% set m.a = [m] %}{{ (n.a == m.a) | tojson * 99999999 }}',
  'a repeated text': '{{ "ab" * 1000000000 }}',
  'a text repeated in small steps': big(200, '{% set x = "ab" * 500000 %}'),
  'a replacement that grows': '{% set s = "a" * 1000 %}{{ s | replace("a", s) | replace("a", s) }}',
  'a replacement between all characters': '{% set s = "a" * 100000 %}{{ s | replace("", s) }}',
  'a join that grows': '{% set s = "a" * 1000 %}{{ range(10000) | join(s) | length }}',
  'a format with wide fields': '{{ ("%9999d" * 2000) | format(1) }}',
  'a wide centre': '{{ "a" | center(1000000000) }}',
  'a wide indent': '{% set s = "a\n" * 50000 %}{{ s | indent(1000) }}',
  'an indent given as text': '{% set s = "a\n" * 50000 %}{{ s | indent("x" * 1000) }}',
  'a wrap at every character': '{{ ("ab" * 500000) | wordwrap(1, true, "x" * 1000) }}',
  'slices without end': '{{ [1] | slice(1000000000) }}',
  'a batch of nothing': '{{ rows | batch(0) }}',
  'a batch filled up':
    '{{ range(100000) | batch(99999, "x") | map("batch", 99999, "x") | list | map("list") | map("tojson") | join | length }}',
  'a sort of long equal texts': '{% set s = "ab" * 500000 %}{{ [' + big(20_000, 's,') + ' s] | sort | length }}',
  'long texts made unique': '{% set s = "ab" * 500000 %}{{ [' + big(20_000, 's,') + ' s] | unique | length }}',
  'long texts compared':
    '{% set s = "ab" * 400000 %}{% set t = "ab" * 399999 ~ "ab" %}{% for i in range(100000) %}{% if s == t %}{% endif %}{% endfor %}',
  'a long text searched for a long text':
    '{% set s = ("a" * 1000 ~ "b") * 1000 %}{% for i in range(1000) %}{% if ("a" * 500 ~ "b" ~ "a" * 499999) in s %}{% endif %}{% endfor %}',
  'tags that never close': '{% for i in range(1000) %}{% set x = ("<" * 1000000) | striptags %}{% endfor %}',
  'comments that never close': '{% for i in range(1000) %}{% set x = ("<!--" * 250000) | striptags %}{% endfor %}',
  'white space': '{% for i in range(1000) %}{% set x = (" " * 1000000 ~ "x") | trim | wordcount %}{% endfor %}',
  titles: '{% for i in range(1000) %}{% set x = ("a " * 500000) | title | urlencode | escape %}{% endfor %}',
  'everything escaped': '{% set s = "&" * 300000 %}{{ s | e }}',
  'everything encoded': '{% set s = "é" * 300000 %}{{ s | urlencode }}',
  'JSON in JSON': "{% set s = '\"' * 1000 %}" + big(40, '{% set s = s | tojson %}') + '{{ s }}',
  'long decimals': '{% set d = "9" * 400 %}{{ range(100000) | map("format_number") | map("replace", "0", "1e999") | sum }}',
  'a long power': '{{ 10 ** 308 * 10 ** 308 }}',
  'an endless date format': '{{ "2024-01-01" | date("%Y" * 400000) }}',
  'an endless number of columns': '{{ range(100000) | csv("a," * 5000) }}',
  'a table of tables':
    '{% set t = range(1000) | markdown_table %}{% set t = [t] * 2 %}{{ range(100000) | markdown_table("a," * 5000) }}',
  'a split at every character': '{{ ("," * 1000000).split(",") | length }}',
  'a long attribute path': '{{ rows | map(attribute="a." * 400000) | list }}',
  'a filter of filters':
    '{{ range(1000) | map("map", "map", "map", "upper") | list }}' +
    big(10, '{{ range(100000) | map("string") | map("list") | map("join") | list | length }}'),
  'groups of groups': big(30, '{{ range(100000) | groupby("x") | length }}'),
};

describe('a template that wants too much is stopped in time', () => {
  for (const [name, text] of Object.entries(BOMBS)) {
    test(name, () => {
      const started = processorMs();
      const result = attempt(text, { rows: [{ id: 1 }] });
      expect(processorMs() - started).toBeLessThan(8_000);
      expect(result).toBeInstanceOf(AppError);
    });
  }

  const PARSER: Readonly<Record<string, string>> = {
    parentheses: `{{ ${big(30_000, '(')}1${big(30_000, ')')} }}`,
    lists: `{{ ${big(30_000, '[')}${big(30_000, ']')} }}`,
    objects: `{{ ${big(16_000, '{"a": ')}1${big(16_000, ' }')} }}`,
    'not not': `{{ ${big(20_000, 'not ')}1 }}`,
    signs: `{{ ${big(40_000, '- ')}1 }}`,
    attributes: `{{ a${big(40_000, '.a')} }}`,
    indexes: `{{ a${big(30_000, '[a')}${big(30_000, ']')} }}`,
    filters: `{{ a${big(12_000, '|upper')} }}`,
    calls: `{{ a${big(12_000, '.get(1')}${big(12_000, ')')} }}`,
    ifs: big(8_000, '{% if a %}') + big(8_000, ''),
    'nested ifs': `${big(4_000, '{% if a %}')}${big(4_000, '{% endif %}')}`,
    'nested loops': `${big(3_000, '{% for a in a %}')}${big(3_000, '{% endfor %}')}`,
    'open raws': big(10_000, '{% raw %}'),
    'open comments': big(40_000, '{#'),
    'open strings': `{{ ${big(49_000, '"')} }}`,
    'open tags': big(30_000, '{% '),
    'inline ifs': `{{ 1${big(8_000, ' if a else 1')} }}`,
    ins: `{{ 1${big(15_000, ' in a')} }}`,
    'is is': `{{ 1${big(10_000, ' is odd')} }}`,
  };
  for (const [name, text] of Object.entries(PARSER)) {
    test(`the parser is not exhausted by ${name}`, () => {
      const started = processorMs();
      expect(attempt(text.slice(0, 100_000))).toBeInstanceOf(AppError);
      expect(processorMs() - started).toBeLessThan(8_000);
    });
  }

  test('long chains are no nesting', () => {
    expect(attempt(`{{ 1${big(20_000, ' + 1')} }}`)).toBe('20001');
    expect(attempt(`{{ 0${big(10_000, ' or 0')} or 7 }}`)).toBe('7');
    expect(attempt(`{% if 0 %}${big(1_000, '{% elif 0 %}')}{% else %}last{% endif %}`)).toBe('last');
  });

  test('the clock stops a template whatever its steps cost', () => {
    let time = 0;
    const limits = { ...TEMPLATE_LIMITS, now: () => (time += 300) };
    const template = parseTemplate('{% for i in range(90000) %}{{ i }}{% endfor %}');
    expect(() => renderTemplate(template, {}, limits)).toThrow(
      'Line 1 of the template: The template ran for more than 1 000 ms.',
    );
  });

  test('the sentences name the limit', () => {
    expect(detail('{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}')).toBe(
      'Line 1 of the template: The template used more than 2 000 000 steps; loop over fewer rows or write less text.',
    );
    expect(detail('{{ range(100001) }}')).toBe('Line 1 of the template: The template created a list of more than 100 000 items.');
    expect(detail('\n{{ "a" * 1048577 }}')).toBe(
      'Line 2 of the template: The template wrote a text longer than 1 048 576 characters.',
    );
    expect(detail('{{ "a" * 600000 }}{{ "a" * 600000 }}')).toBe(
      'Line 1 of the template: The template wrote more than 1 MiB of output.',
    );
  });

  test('the messages of a prompt have the limits of one template together', () => {
    const messages = (text: string, count = 20) =>
      Array.from({ length: count }, () => ({ role: 'user', template: parseTemplate(text) }));
    const refused = (text: string) => {
      try {
        renderMessages(messages(text), {}, UNTIMED);
        return 'passed';
      } catch (error) {
        return error instanceof AppError ? error.detail : String(error);
      }
    };
    expect(refused('{% for a in range(90000) %}{% if a %}{% endif %}{% endfor %}')).toContain('used more than 2 000 000 steps');
    expect(refused('{{ "é" * 50000 }}')).toBe('Line 1 of the template: The template wrote more than 1 MiB of output.');
    let time = 0;
    const limits = { ...TEMPLATE_LIMITS, now: () => (time += 100) };
    const slow = messages('{% for i in range(4000) %}{{ i }}{% endfor %}');
    expect(() => renderMessages(slow, {}, limits)).toThrow('ran for more than 1 000 ms');
    expect(renderMessages(messages('{% set a = 1 %}{{ a }}b', 3), {})).toEqual(
      Array.from({ length: 3 }, () => ({ role: 'user', text: '1b' })),
    );
  });

  test('the output is limited in bytes, not in characters', () => {
    expect(attempt('{{ "a" * 1048576 }}')).toHaveLength(1_048_576);
    expect(attempt('{{ "é" * 524288 }}')).toHaveLength(524_288);
    expect(attempt('{{ "é" * 524289 }}')).toBeInstanceOf(AppError);
  });
});
