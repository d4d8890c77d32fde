import type { TestStatus } from '#core/contract/definitions/tests.ts';
import type { Tone } from '#ui/src/components/badge.tsx';

export const STATES: Readonly<Record<TestStatus | 'never', { readonly label: string; readonly tone: Tone }>> = {
  passed: { label: 'Passed', tone: 'good' },
  failed: { label: 'Failed', tone: 'bad' },
  skipped: { label: 'Skipped', tone: 'warning' },
  never: { label: 'Not run yet', tone: 'plain' },
};

/** `2 passed, 1 failed`. */
export function tally({ passed, failed, skipped }: { passed: number; failed: number; skipped: number }): string {
  const parts = [
    { count: passed, word: 'passed' },
    { count: failed, word: 'failed' },
    { count: skipped, word: 'skipped' },
  ].filter(({ count }) => count > 0);
  return parts.length === 0 ? 'No tests ran.' : `${parts.map(({ count, word }) => `${count} ${word}`).join(', ')}.`;
}
