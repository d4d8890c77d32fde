import type { ToolDraft } from '#core/contract/definitions/tools.ts';
import { isGuarded } from '#core/contract/definitions/write-guard.ts';
import { AppError, type FieldError } from '#core/errors.ts';
import type { Classification } from '#core/lib/sql/statement.ts';
import { notTried } from '../preview/preview.ts';

type Guard = Pick<ToolDraft, 'max_affected_rows' | 'confirm' | 'confirm_rows' | 'two_step'>;

/** Refuses limits and questions that would have no effect, or that no database could keep to. */
export function refuseMisfits(draft: Guard, read_only: boolean, classification: Classification): void {
  const errors = faultsOf(draft, read_only, classification);
  if (errors.length > 0) throw new AppError('invalid', errors.map(({ message }) => message).join(' '), { errors });
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
