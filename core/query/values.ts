import { NO_CLAIMS, NO_IDENTITY } from './identity.ts';
import { type CallFacts, fillOf, type Fill } from './value-sources.ts';
import type { Json } from '#core/lib/sql/result.ts';
import { type ArgumentValues, type UndeclaredRecord, compileArguments, isSent } from './arguments.ts';
import type { Parameter } from '#core/contract/definitions/parameters.ts';
import type { Statement } from '#core/lib/sql/statement.ts';

/** The caller of a call without a credential, such as a preview. */
export const NO_CALLER: CallFacts['caller'] = { claims: NO_CLAIMS, identity: NO_IDENTITY };

/** Checked values of a statement's parameters, by name. */
export type ParameterValues = Readonly<Record<string, Json | undefined>>;

/**
 * Throws `invalid` with the faults of all arguments, and `caller_value_missing` if a source has no value. Returns a promise if
 * the check takes long.
 */
export type ResolveValues = (facts: CallFacts, record?: UndeclaredRecord) => ArgumentValues | Promise<ArgumentValues>;

/**
 * Nothing else fills a statement's parameters. Compiled once per definition. A model's argument never reaches a parameter
 * with another source, because that parameter is not declared to the model.
 */
export function compileValues(
  parameters: readonly Parameter[],
  { nodes }: Pick<Statement, 'nodes'>,
  refuses_undeclared: boolean,
): ResolveValues {
  const ofModel = compileArguments(parameters.filter(isSent), refuses_undeclared);
  const needed = new Set(nodes.flatMap((node) => (typeof node === 'object' && 'name' in node ? [node.name] : [])));
  const fills = parameters.flatMap((parameter) => fillOf(parameter, needed.has(parameter.name)) ?? []);
  if (fills.length === 0) return (facts, record) => ofModel(facts.arguments, record);
  return (facts, record) => {
    const values = ofModel(facts.arguments, record);
    return values instanceof Promise ? values.then((sent) => filled(sent, fills, facts)) : filled(values, fills, facts);
  };
}

function filled(values: ArgumentValues, fills: readonly Fill[], facts: CallFacts): ArgumentValues {
  for (const { name, read } of fills) {
    const value = read(facts);
    if (value !== undefined) values[name] = value;
  }
  return values;
}

/** The `caller` that templates read. */
const callerScope = ({ identity, claims }: CallFacts['caller']) => ({ ...identity, claims });

/** Scope of a transform template besides its rows. */
export const transformScope = (values: ParameterValues, { vars, caller }: CallFacts) => ({
  params: Object.fromEntries(Object.entries(values).map(([name, value]) => [name, value ?? null])),
  vars,
  caller: callerScope(caller),
});

/** Scope of prompt templates. An argument named `caller` takes precedence over the caller. */
export const promptScope = (values: Readonly<Record<string, string>>, { vars, caller }: Pick<CallFacts, 'vars' | 'caller'>) => ({
  caller: callerScope(caller),
  ...values,
  vars,
});
