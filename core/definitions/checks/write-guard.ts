import type { ToolDraft } from '#core/contract/definitions/tools.ts';
import type { Classification } from '#core/lib/sql/statement.ts';
import { type FieldError, refuseFields } from '#core/errors.ts';
import { isGuarded } from '#core/contract/definitions/write-guard.ts';

/** Commands that only change rows. Others define tables or call procedures, and may commit implicitly. */
const REVERSIBLE: ReadonlySet<string> = new Set(['insert', 'update', 'delete', 'replace', 'merge', 'with', 'select', 'values']);

/** Why a statement cannot be run and rolled back on any database; null when it can. */
export const notTried = ({ command, lasting }: Pick<Classification, 'command' | 'lasting'>): string | null =>
  REVERSIBLE.has(command)
    ? (lasting ?? null)
    : `Only INSERT, UPDATE, DELETE, REPLACE, MERGE, WITH and SELECT can be run and rolled back, not ${command.toUpperCase()}.`;

type Guard = Pick<ToolDraft, 'max_affected_rows' | 'confirm' | 'confirm_rows' | 'two_step' | 'cache_ttl_seconds' | 'view'>;

/** Throws for limits and confirmations that have no effect, or that no database can enforce. */
export const refuseMisfits = (draft: Guard, read_only: boolean, classification: Classification): void =>
  refuseFields(faultsOf(draft, read_only, classification));

/** Throws for settings without effect that are refused only on writes. Stored tools may have them. */
export const refuseIdle = (draft: Guard, read_only: boolean): void => refuseFields(idleFaults(draft, read_only));

function idleFaults(
  { max_affected_rows, confirm, confirm_rows, two_step, cache_ttl_seconds, view }: Guard,
  read_only: boolean,
): FieldError[] {
  const asks_beyond_limit =
    confirm === 'above' && confirm_rows !== null && max_affected_rows !== null && confirm_rows >= max_affected_rows;
  return [
    ...(asks_beyond_limit
      ? [
          {
            field: 'confirm_rows',
            message: `Confirmation above ${confirm_rows} rows never happens, because max_affected_rows rejects more than ${max_affected_rows} rows. Set confirm_rows below it.`,
          },
        ]
      : []),
    ...(!read_only && cache_ttl_seconds > 0
      ? [{ field: 'cache_ttl_seconds', message: 'cache_ttl_seconds is for tools that only read. Set it to 0.' }]
      : []),
    ...(two_step && view !== null && view.kind !== 'none'
      ? [{ field: 'view', message: 'view has no effect with two_step: a result may be a token. Set it to null.' }]
      : []),
  ];
}

function faultsOf(
  { max_affected_rows, confirm, confirm_rows, two_step }: Guard,
  read_only: boolean,
  its: Classification,
): FieldError[] {
  const field = confirm === 'never' ? 'max_affected_rows' : 'confirm';
  if (isGuarded({ max_affected_rows, confirm })) {
    if (read_only) return [{ field, message: `${field} is for tools that write; this one only reads.` }];
    if (its.passthrough) return [{ field, message: `${field} does not go with a statement that is a parameter.` }];
    const reason = its.command === '' ? null : notTried(its);
    if (reason !== null) return [{ field, message: `${field} needs a statement that can be run and rolled back. ${reason}` }];
  }
  return [
    ...(confirm === 'above' && confirm_rows === null
      ? [{ field: 'confirm_rows', message: 'confirm_rows is required when a person is asked above a number of rows.' }]
      : []),
    ...(confirm !== 'above' && confirm_rows !== null
      ? [{ field: 'confirm_rows', message: 'confirm_rows needs confirm above.' }]
      : []),
    ...(two_step && confirm === 'never' ? [{ field: 'two_step', message: 'two_step needs confirm always or above.' }] : []),
  ];
}
