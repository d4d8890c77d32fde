import { NO_CLAIMS, NO_IDENTITY } from './identity.ts';
import { type CallFacts, fillOf, type Fill } from './value-sources.ts';
import type { Json } from '#core/lib/sql/result.ts';
import { type ArgumentValues, type UndeclaredRecord, compileArguments, isSent } from './arguments.ts';
import type { Parameter } from '#core/contract/definitions/parameters.ts';
import type { Statement } from '#core/lib/sql/statement.ts';

/** A call without a credential, such as a preview. */
export const NO_CALLER: CallFacts['caller'] = { claims: NO_CLAIMS, identity: NO_IDENTITY };

/** Checked values of the parameters of a statement, by name. */
export type ParameterValues = Readonly<Record<string, Json | undefined>>;

/**
 * Throws `invalid` with the faults of every argument, and `caller_value_missing` for a value that the call does not have. A promise
 * when the check takes long.
 */
export type ResolveValues = (facts: CallFacts, record?: UndeclaredRecord) => ArgumentValues | Promise<ArgumentValues>;

/**
 * The one place that fills the parameters of a statement, prepared once for each definition. An argument of the model never
 * reaches a parameter that has another source: it is not declared to it.
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

/** What templates read of the caller. */
const callerScope = ({ identity, claims }: CallFacts['caller']) => ({ ...identity, claims });

/** What the transform template of a call reads beside its rows. */
export const transformScope = (values: ParameterValues, { vars, caller }: CallFacts) => ({
  params: Object.fromEntries(Object.entries(values).map(([name, value]) => [name, value ?? null])),
  vars,
  caller: callerScope(caller),
});

/** What the templates of a prompt read. An argument that its author named `caller` stays one. */
export const promptScope = (values: Readonly<Record<string, string>>, { vars, caller }: Pick<CallFacts, 'vars' | 'caller'>) => ({
  caller: callerScope(caller),
  ...values,
  vars,
});
