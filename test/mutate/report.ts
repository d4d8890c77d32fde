import type { Undone } from './fixes.ts';
import type { Sampled } from './sample.ts';
import type { Verdict } from './verdicts.ts';

/** A table by area, and every mutant that the daily layer did not notice. */
export function describeSample(verdicts: readonly Verdict<Sampled>[]): string[] {
  const areas = [...new Set(verdicts.map(({ change }) => change.area))];
  const rows = [...areas, 'all'].map((area) => {
    const those = verdicts.filter(({ change }) => area === 'all' || change.area === area);
    const count = (layer: Verdict<Sampled>['layer']) => those.filter((verdict) => verdict.layer === layer).length;
    return [area, those.length, count('daily'), count('full'), count(null)];
  });
  const lines = (layer: 'full' | null) =>
    verdicts.filter((verdict) => verdict.layer === layer).flatMap((verdict) => describeMutant(verdict));
  return [
    ...table(['area', 'mutants', 'daily', 'only full', 'survived'], rows),
    '',
    'Noticed only by the full layer:',
    ...lines('full'),
    '',
    'Survived:',
    ...lines(null),
  ];
}

function describeMutant({ change, by, passed, left }: Verdict<Sampled>): string[] {
  const why = by === null ? (passed === 0 ? 'no test reaches it' : `${passed} runs pass${leftOut(left)}`) : `by ${by}`;
  return [`  ${change.title}, ${why}`, `      ${change.before}`, `    → ${change.after}`];
}

/** What nothing notices first. */
export function describeFixes(verdicts: readonly Verdict<Undone>[]): string[] {
  const [rest, tried] = [
    verdicts.filter(({ change }) => change.undone === 0),
    verdicts.filter(({ change }) => change.undone > 0),
  ];
  const part = (title: string, layer: Verdict<Undone>['layer']) => {
    const those = tried.filter((verdict) => verdict.layer === layer);
    return [`${title}: ${those.length}`, ...those.flatMap(describeFix)];
  };
  return [
    ...part('Not noticed', null),
    ...part('Noticed only by the full layer', 'full'),
    ...part('Noticed by the daily layer', 'daily'),
    `Not undone, as none of it applies alone: ${rest.length}`,
    ...rest.map(({ change }) => `  ${change.title}`),
  ];
}

function describeFix({ change, by, passed, left }: Verdict<Undone>): string[] {
  const how = by === null ? `${passed} runs pass${leftOut(left)}` : `by ${by}`;
  return [`  ${change.title}`, `    ${change.undone} of ${change.hunks} hunks undone, ${how}`];
}

const leftOut = (left: number): string => (left === 0 ? '' : `, ${left} not tried`);

function table(head: readonly string[], rows: readonly (readonly (string | number)[])[]): string[] {
  const widths = head.map((title, at) => Math.max(title.length, ...rows.map((row) => String(row[at]).length)));
  return [head, ...rows].map((row) =>
    row.map((cell, at) => (at === 0 ? String(cell).padEnd(widths[at] ?? 0) : String(cell).padStart(widths[at] ?? 0))).join('  '),
  );
}
