import { readFileSync } from 'node:fs';
import { createGuard, type Guard, type GuardField } from '#core/lib/prompt-guard/guard.ts';
import type { Severity } from '#core/lib/prompt-guard/types.ts';

export interface Sample extends GuardField {
  /** Of attacks only. */
  readonly family?: string;
  /** Of public texts only. */
  readonly source?: string;
}

export const PARTS = ['local', 'public'] as const;
export type Part = (typeof PARTS)[number];

/**
 * Texts that the model never sees: `local` was written for this project, `public` was copied from repositories that the training
 * texts do not contain (`corpus/README.md`). Do not train on them, choose thresholds by them or change the training for one of them.
 */
export const samples = (part: Part, kind: 'attacks' | 'benign'): Sample[] =>
  readFileSync(new URL(`corpus/${part}-${kind}.jsonl`, import.meta.url), 'utf8')
    .trim()
    .split('\n')
    .map((line) => ({ field: 'description', ...(JSON.parse(line) as object) }) as Sample);

export const isBlocked = (guard: Guard, sample: Sample): boolean => guard.blocked(guard.scan([sample])).length > 0;

export interface Measure {
  readonly attacks: number;
  readonly caught: number;
  readonly benign: number;
  readonly false_alarms: number;
  /** Caught and all attacks by family. */
  readonly families: ReadonlyMap<string, readonly [caught: number, all: number]>;
}

export function measure(part: Part, threshold: Severity): Measure {
  const guard = createGuard({ threshold });
  const attacks = samples(part, 'attacks').map((sample) => ({ ...sample, caught: isBlocked(guard, sample) }));
  const benign = samples(part, 'benign');
  const families = new Map<string, readonly [number, number]>();
  for (const { family = '', caught } of attacks) {
    const [found, all] = families.get(family) ?? [0, 0];
    families.set(family, [found + Number(caught), all + 1]);
  }
  return {
    attacks: attacks.length,
    caught: attacks.filter(({ caught }) => caught).length,
    benign: benign.length,
    false_alarms: benign.filter((sample) => isBlocked(guard, sample)).length,
    families,
  };
}

const percent = (part: number, whole: number) => `${((100 * part) / whole).toFixed(1)} %`;

/** One line of the table in the guard's README. */
export function line(part: Part, threshold: Severity): string {
  const { attacks, caught, benign, false_alarms } = measure(part, threshold);
  return `| ${part} | ${threshold} | ${caught} of ${attacks} (${percent(caught, attacks)}) | ${false_alarms} of ${benign} (${percent(false_alarms, benign)}) |`;
}
