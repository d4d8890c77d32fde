import { and, inArray, isNotNull, isNull, notInArray, type SQL } from 'drizzle-orm';
import type { App } from '#core/platform/platform.ts';
import { OUTCOME_CODES, type Outcome } from '#core/contract/observe/outcomes.ts';

const OTHER_CODES = Object.values(OUTCOME_CODES).flat();

/** Calls that ended so. That there is an error is said as the indexes of failed calls say it. */
export function endedAs({ store }: App, outcome: Outcome): SQL | undefined {
  const { error } = store.tables.request_logs;
  if (outcome === 'ok') return isNull(error);
  if (outcome === 'tool_error') return and(isNotNull(error), notInArray(error, OTHER_CODES));
  return and(isNotNull(error), inArray(error, [...OUTCOME_CODES[outcome]]));
}
