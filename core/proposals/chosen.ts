import { AppError, invalidField } from '#core/errors.ts';
import type { Platform } from '#core/platform/platform.ts';
import { type OperationRow, toStep } from './rows.ts';

/**
 * The earlier operations that each operation depends on, by position: those that change the same record, and those that create a
 * record whose id it contains.
 */
export function needsOf(app: Platform, operations: readonly OperationRow[]): ReadonlyMap<number, readonly number[]> {
  const needs = new Map<number, readonly number[]>();
  for (const [n, operation] of operations.entries()) {
    const input = JSON.stringify(toStep(app, operation).input);
    const own = new Set(operation.touched.map(({ entity_id }) => entity_id));
    const isNeeded = ({ touched }: OperationRow): boolean =>
      touched.some(({ entity_id, action }) => own.has(entity_id) || (action === 'create' && input.includes(entity_id)));
    needs.set(
      operation.position,
      operations
        .slice(0, n)
        .filter(isNeeded)
        .map(({ position }) => position),
    );
  }
  return needs;
}

/**
 * The operations that a reviewer chose. Throws `invalid` when a position is unknown, or when a chosen operation depends on one
 * that is left out.
 */
export function chosenOf(
  app: Platform,
  operations: readonly OperationRow[],
  positions: readonly number[] | undefined,
): readonly OperationRow[] {
  if (positions === undefined) return operations;
  const chosen = new Set(positions);
  const unknown = positions.find((position) => !operations.some((operation) => operation.position === position));
  if (unknown !== undefined) throw invalidField('positions', `The proposal has no operation ${unknown}.`);
  const needs = needsOf(app, operations);
  const taken = operations.filter(({ position }) => chosen.has(position));
  const errors = taken.flatMap((operation) =>
    (needs.get(operation.position) ?? [])
      .filter((position) => !chosen.has(position))
      .map((position) => ({ field: 'positions', message: needsSentence(operation, operations, position) })),
  );
  if (errors.length > 0) throw new AppError('invalid', errors.map(({ message }) => message).join(' '), { errors });
  return taken;
}

function needsSentence({ position, summary }: OperationRow, operations: readonly OperationRow[], needed: number): string {
  const other = operations.find((operation) => operation.position === needed);
  return `Operation ${position} (${summary}) needs operation ${needed} (${other?.summary ?? ''}). Take both or neither.`;
}
