import { readFileSync } from 'node:fs';
import { createGuard, type Finding, type GuardField } from '#core/lib/prompt-guard/guard.ts';
import type { Severity } from '#core/lib/prompt-guard/types.ts';

export interface Sample extends GuardField {
  readonly language: string;
  /** Of attacks only. */
  readonly family?: string;
}

export type Half = 'development' | 'held-back';

/**
 * The rules were made with the development part at hand. The held-back part was written after the rules were finished, and
 * they are not changed for it: whoever tunes a rule on one of its samples moves them to the development part and writes others.
 */
export function samples(half: Half, kind: 'attacks' | 'benign'): Sample[] {
  return readFileSync(new URL(`corpus/${half}-${kind}.jsonl`, import.meta.url), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Sample);
}

export interface Measure {
  readonly attacks: number;
  readonly caught: number;
  readonly benign: number;
  readonly false_alarms: number;
  readonly missed: readonly Sample[];
  readonly alarmed: readonly (Sample & { readonly findings: readonly Finding[] })[];
}

export function measure(half: Half, threshold: Severity): Measure {
  const guard = createGuard({ threshold });
  const attacks = samples(half, 'attacks');
  const benign = samples(half, 'benign').map((sample) => ({ ...sample, findings: guard.blocked(guard.scan([sample])) }));
  const missed = attacks.filter((sample) => guard.blocked(guard.scan([sample])).length === 0);
  const alarmed = benign.filter(({ findings }) => findings.length > 0);
  return {
    attacks: attacks.length,
    caught: attacks.length - missed.length,
    benign: benign.length,
    false_alarms: alarmed.length,
    missed,
    alarmed,
  };
}

const percent = (part: number, whole: number) => `${((100 * part) / whole).toFixed(1)} %`;

/** One line of the table in the guard's README. */
export function line(half: Half, threshold: Severity): string {
  const { attacks, caught, benign, false_alarms } = measure(half, threshold);
  return `| ${half} | ${threshold} | ${caught} of ${attacks} (${percent(caught, attacks)}) | ${false_alarms} of ${benign} (${percent(false_alarms, benign)}) | ${percent(caught, caught + false_alarms)} |`;
}
