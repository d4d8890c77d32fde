import type { PretendedCaller } from '#core/contract/definitions/pretended-caller.ts';
import { AppError } from '#core/errors.ts';
import type { CallFacts } from '#core/query/value-sources.ts';
import { NO_CALLER } from '#core/query/values.ts';
import type { Context } from '#core/context/context.ts';
import { toCaller } from '#core/query/pretended-caller.ts';
import type { Parameter } from '#core/contract/definitions/parameters.ts';

/** The caller of a preview. Tokens cannot choose one: they could read what policies and masks hide from them. */
export function pretended({ actor }: Context, caller: PretendedCaller | undefined): CallFacts['caller'] {
  if (caller === undefined) return NO_CALLER;
  if (actor?.type !== 'admin' && actor?.type !== 'system') {
    const message = 'Only a signed-in person can preview as a caller, not a token. Leave out caller.';
    throw new AppError('admin_only', message, { errors: [{ field: 'caller', message }] });
  }
  return toCaller(caller);
}

/** The declared parameters with the sources of a preview. An undeclared parameter has the type of its source. */
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
