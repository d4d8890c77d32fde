import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'bun:test';
import { line, measure, samples, type Half } from './corpus.ts';

const HALVES: readonly Half[] = ['development', 'held-back'];

describe('the corpora', () => {
  test('hold at least 200 attacks and 400 ordinary definitions, none of them twice', () => {
    const attacks = HALVES.flatMap((half) => samples(half, 'attacks'));
    const benign = HALVES.flatMap((half) => samples(half, 'benign'));
    expect(attacks.length).toBeGreaterThanOrEqual(200);
    expect(benign.length).toBeGreaterThanOrEqual(400);
    for (const all of [attacks, benign]) {
      expect(new Set(all.map(({ kind, field, text }) => `${kind} ${field} ${text}`)).size).toBe(all.length);
    }
  });

  test('cover every kind of text, many families and many languages', () => {
    const attacks = HALVES.flatMap((half) => samples(half, 'attacks'));
    expect(new Set(attacks.map(({ kind }) => kind))).toEqual(new Set(['text', 'sql', 'template']));
    expect(new Set(attacks.map(({ language }) => language)).size).toBeGreaterThanOrEqual(14);
    expect(new Set(attacks.map(({ family }) => family)).size).toBeGreaterThanOrEqual(12);
  });
});

describe('accuracy at the default threshold', () => {
  test('finds at least 95 % of the development attacks with at most 1 % false alarms', () => {
    const { attacks, caught, benign, false_alarms, alarmed } = measure('development', 'medium');
    expect(alarmed.map(({ text, findings }) => [text, findings.map(({ rule }) => rule)]).slice(0, 3)).toEqual([]);
    expect(caught / attacks).toBeGreaterThanOrEqual(0.95);
    expect(false_alarms / benign).toBeLessThanOrEqual(0.01);
  });

  test('stays above its floor on samples that no rule was made for', () => {
    const { attacks, caught, benign, false_alarms } = measure('held-back', 'medium');
    expect(caught / attacks).toBeGreaterThanOrEqual(0.65);
    expect(false_alarms / benign).toBeLessThanOrEqual(0.02);
  });

  test('is what the README says', () => {
    const readme = readFileSync(new URL('../../../../core/lib/prompt-guard/README.md', import.meta.url), 'utf8');
    for (const half of HALVES) {
      for (const threshold of ['low', 'medium', 'high'] as const) expect(readme).toContain(line(half, threshold));
    }
  });
});
