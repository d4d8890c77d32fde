import type { PretendedCaller } from '#core/contract/definitions/pretended-caller.ts';
import { AppError } from '#core/errors.ts';
import type { CallFacts } from '#core/query/value-sources.ts';
import { NO_CALLER } from '#core/query/values.ts';
import type { Context } from '#core/context/context.ts';
import { toCaller } from '#core/query/pretended-caller.ts';
import type { Parameter } from '#core/contract/definitions/parameters.ts';
import type { Mask } from '#core/contract/definitions/masks.ts';
import type { QueryResult } from '#core/lib/sql/result.ts';
import { createPseudonym, maskResult, rulesFor, toRules } from '#core/query/masks.ts';

/** Who a preview calls as. A token could read as somebody else what policies and masks keep from it, so it cannot say. */
export function pretended({ actor }: Context, caller: PretendedCaller | undefined): CallFacts['caller'] {
  if (caller === undefined) return NO_CALLER;
  if (actor?.type !== 'admin' && actor?.type !== 'system') {
    const message = 'Only a signed-in person can preview as a caller, not a token. Leave out caller.';
    throw new AppError('admin_only', message, { errors: [{ field: 'caller', message }] });
  }
  return toCaller(caller);
}

/** The declared parameters with the sources that a preview gives them; one that is not declared has the type of its source. */
export function withSources(definitions: readonly Parameter[], from: Readonly<Record<string, string>>): Parameter[] {
  const declared = definitions.map((one) => (Object.hasOwn(from, one.name) ? { ...one, from: from[one.name] ?? '' } : one));
  const others = Object.entries(from).filter(([name]) => !definitions.some((one) => one.name === name));
  return [
    ...declared,
    ...others.map(([name, source]) => ({ name, description: '', required: true, from: source, ...typeOf(source) })),
  ];
}

const typeOf = (source: string): Pick<Parameter, 'type' | 'items'> =>
  source === 'caller.groups' ? { type: 'array', items: 'string' } : { type: source === 'call.time' ? 'datetime' : 'string' };

/** What the caller sees of a result. @param traced the names that its columns have in their tables; null: there are no masks. */
export function maskedFor(
  result: QueryResult,
  masks: readonly Mask[],
  traced: readonly (string | null)[] | null,
  { groups, keys }: { readonly groups: readonly string[]; readonly keys: readonly string[] },
): QueryResult {
  if (traced === null) return result;
  const columns = result.columns.map((column, n) => ({ ...column, origin: traced[n] ?? null }));
  return maskResult(result, rulesFor(toRules(masks, columns), groups), createPseudonym(keys));
}
