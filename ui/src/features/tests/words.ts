import type { TestStatus } from '#core/contract/definitions/tests.ts';
import type { Tone } from '#ui/src/components/badge.tsx';

export const STATES: Readonly<Record<TestStatus | 'never', { readonly label: string; readonly tone: Tone }>> = {
  passed: { label: 'Passed', tone: 'good' },
  failed: { label: 'Failed', tone: 'bad' },
  skipped: { label: 'Skipped', tone: 'brass' },
  never: { label: 'Not run yet', tone: 'plain' },
};

export const WORDS = {
  tests: 'Tests',
  new: 'New test',
  edit: 'Edit test',
  run: 'Run',
  run_all: 'Run tests',
  kept: 'Test created. Every deploy of a change runs it.',
  saved: 'Test saved.',
  unsaved: 'The changes to this test are not saved.',
  deleted: (name: string) => `Test ${name} deleted.`,
  no_definition: 'The definition of this result was deleted or renamed. Run it again under its new name.',
  arguments_unknown: 'The arguments of this call are not known. Enter those that the test sends.',
  none: 'No tests yet',
  none_lead: 'Run the preview and keep its result as a test. Every deploy of a change then checks it.',
} as const;

/** `2 passed, 1 failed`. */
export function tally({ passed, failed, skipped }: { passed: number; failed: number; skipped: number }): string {
  const parts = [
    { count: passed, word: 'passed' },
    { count: failed, word: 'failed' },
    { count: skipped, word: 'skipped' },
  ].filter(({ count }) => count > 0);
  return parts.length === 0 ? 'No tests ran.' : `${parts.map(({ count, word }) => `${count} ${word}`).join(', ')}.`;
}
