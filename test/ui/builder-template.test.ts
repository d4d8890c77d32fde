import { describe, expect, test } from 'bun:test';
import { FILTERS } from '#core/lib/template/filters/filters.ts';
import { parseTemplate } from '#core/lib/template/parse.ts';
import { rangeInText, TEMPLATE_FILTERS, templateNames, templatePointAt } from '#ui/src/features/builder/sql/template.ts';

test('the filters that are offered are those of the server', () => {
  expect([...TEMPLATE_FILTERS].sort()).toEqual([...FILTERS.keys()].sort());
});

describe('what is completed', () => {
  const at = (marked: string) => templatePointAt(marked.replace('|', ''), marked.indexOf('|'));
  test('depends on the signs around the cursor', () => {
    expect(at('Hello |').kind).toBe('text');
    expect(at('{{ ro|').kind).toBe('value');
    expect(at('{{ rows }} and |').kind).toBe('text');
    expect(at('{% fo|').kind).toBe('tag');
    expect(at('{% for row in ro|').kind).toBe('value');
    expect(templatePointAt('{{ rows | le', 12)).toEqual({ kind: 'filter', from: 10 });
    expect(at('{{ row.na|')).toEqual({ kind: 'member', from: 7, of: 'row' });
    expect(at('{{ rows[0].na|')).toEqual({ kind: 'member', from: 11, of: 'rows[0]' });
    expect(at('{{ "row.|').kind).toBe('text');
  });
});

test('loops and assignments bring names', () => {
  expect([...templateNames('{% for row in rows %}{%- for key, value in row %}{% set total = 1 %}')]).toEqual([
    ['row', 'rows'],
    ['key', 'row'],
    ['value', 'row'],
    ['total', ''],
  ]);
});

test('the place that a sentence names is found in the text', () => {
  const text = 'one\n  two three\nfour';
  const named = (sentence: string) => {
    const place = rangeInText(sentence, text);
    return place && text.slice(place.start, place.end);
  };
  expect(named('Unknown filter (line 2, column 7).')).toBe('three');
  expect(named('The template failed on line 2.')).toBe('two three');
  expect(named('Something is wrong.')).toBeUndefined();
  expect(named('line 9')).toBeUndefined();
  const broken = '{{ a }}\n{% if %}';
  let sentence = '';
  try {
    parseTemplate(broken);
  } catch (fault) {
    sentence = String(fault);
  }
  expect(rangeInText(sentence, broken)?.start).toBeGreaterThanOrEqual(8);
});
