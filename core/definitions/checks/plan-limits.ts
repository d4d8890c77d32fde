import { DB_TYPE_CHOICES, type DbType } from '#core/contract/definitions/connections.ts';
import type { PlanLimits } from '#core/contract/definitions/pages.ts';
import { engineOf } from '#core/engines/index.ts';
import { type FieldError, refuseFields } from '#core/errors.ts';

/** Throws for limits on a plan that the database of the tool does not estimate. */
export function refusePlanLimits(draft: PlanLimits, read_only: boolean, db_type: DbType): void {
  const { max_plan_rows, max_plan_cost, plan_limit } = draft;
  const set = [
    ...(max_plan_rows === null ? [] : ['max_plan_rows' as const]),
    ...(max_plan_cost === null ? [] : ['max_plan_cost' as const]),
  ];
  const faults: FieldError[] = set.flatMap((field) => {
    const why = unestimated(field, read_only, db_type);
    return why === null ? [] : [{ field, message: `${field} ${why}` }];
  });
  const message = 'plan_limit needs max_plan_rows or max_plan_cost.';
  refuseFields(plan_limit === 'refuse' && set.length === 0 ? [{ field: 'plan_limit', message }] : faults);
}

/** Why a limit has no effect, as the rest of a sentence after its name; null when it has one. */
function unestimated(field: 'max_plan_rows' | 'max_plan_cost', read_only: boolean, db_type: DbType): string | null {
  if (!read_only) return 'is for tools that only read. Limit writes by max_affected_rows.';
  const { estimates } = engineOf(db_type);
  const { label } = DB_TYPE_CHOICES[db_type];
  if (estimates?.kinds.includes(db_type) !== true)
    return `does not work with ${label}, whose plans Sluice cannot compare with a limit. Limit the tool by timeout_ms.`;
  if (field === 'max_plan_rows' || estimates.cost) return null;
  return `does not work with ${label}, whose plans have no comparable cost. Use max_plan_rows.`;
}
