import type { ToolDraft } from '#core/contract/definitions/tools.ts';
import type { Classification } from '#core/lib/sql/statement.ts';
import { type FieldError, refuseFields } from '#core/errors.ts';
import { isGuarded } from '#core/contract/definitions/write-guard.ts';

/** Statements that change rows and nothing else; what defines tables, or calls procedures, may commit by itself. */
const TRIED: ReadonlySet<string> = new Set(['insert', 'update', 'delete', 'replace', 'merge', 'with', 'select', 'values']);

/** Why a statement cannot be run and rolled back, whatever the database; null: it can. */
export const notTried = ({ command, lasting }: Pick<Classification, 'command' | 'lasting'>): string | null =>
  TRIED.has(command)
    ? (lasting ?? null)
    : `Only INSERT, UPDATE, DELETE, REPLACE, MERGE, WITH and SELECT can be run and rolled back, not ${command.toUpperCase()}.`;

type Guard = Pick<ToolDraft, 'max_affected_rows' | 'confirm' | 'confirm_rows' | 'two_step' | 'cache_ttl_seconds' | 'view'>;

/** Refuses limits and questions that would have no effect, or that no database could keep to. */
export const refuseMisfits = (draft: Guard, read_only: boolean, classification: Classification): void =>
  refuseAll(faultsOf(draft, read_only, classification));

/** The same for a tool that is written anew: what was stored before may have such settings. */
export const refuseIdle = (draft: Guard, read_only: boolean): void => refuseAll(idleFaults(draft, read_only));

function refuseAll(errors: readonly FieldError[]): void {
  refuseFields(errors);
}

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
            message: `Nobody is ever asked above ${confirm_rows} rows, because max_affected_rows refuses more than ${max_affected_rows}. Set confirm_rows below it.`,
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
