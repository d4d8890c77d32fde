import type { TestStatus } from '#core/contract/definitions/tests.ts';
import { CHECK_CHOICES } from '#core/contract/fields.ts';
import type { Tone } from '#ui/src/components/badge.tsx';

const TONES = { passed: 'good', failed: 'bad', skipped: 'warning' } as const;

export const stateOf = (status: TestStatus | undefined): { readonly label: string; readonly tone: Tone } =>
  status === undefined ? { label: 'Not run yet', tone: 'plain' } : { label: CHECK_CHOICES[status].label, tone: TONES[status] };

/** `2 passed, 1 failed`. */
export function tally({ passed, failed, skipped }: { passed: number; failed: number; skipped: number }): string {
  const parts = [
    { count: passed, word: 'passed' },
    { count: failed, word: 'failed' },
    { count: skipped, word: 'skipped' },
  ].filter(({ count }) => count > 0);
  return parts.length === 0 ? 'No tests ran.' : `${parts.map(({ count, word }) => `${count} ${word}`).join(', ')}.`;
}
