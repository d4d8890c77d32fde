import type { Mask, MaskKind } from '#core/contract/definitions/masks.ts';
import type { Parameter } from '#core/contract/definitions/parameters.ts';
import type { SqlDialect } from '#core/lib/sql/dialect.ts';
import { everyUse, type ParameterUse } from '#core/lib/sql/uses.ts';
import { isSent } from './arguments.ts';
import { maskOf, toRules, type TracedColumn } from './masks.ts';

interface MaskedQuery {
  readonly sql_query: string;
  readonly parameters: readonly Parameter[];
  readonly masks: readonly Mask[];
}

/**
 * How the arguments of a tool with masks are kept in the request log, by name; one that is not here is kept as it was sent. An
 * argument of a masked column, by its own name or by what the statement compares or writes, is kept under that mask. Any other is
 * kept as it was sent only where the statement uses it with nothing but columns that callers see unmasked: what an expression or
 * a column that is not in the result says of a masked one, nobody knows.
 */
export function argumentMasks(
  { sql_query, parameters, masks }: MaskedQuery,
  columns: readonly TracedColumn[] | null,
  dialect: SqlDialect,
): Readonly<Record<string, MaskKind>> {
  if (masks.length === 0) return {};
  const rules = toRules(masks, columns);
  const traced = columns ?? [];
  const of_origin = new Map(traced.map((column) => [column.origin?.toLowerCase(), maskOf(rules, column, traced)]));
  const maskNamed = (name: string): MaskKind | undefined =>
    rules.find((rule) => rule.columns.includes(name.toLowerCase()))?.mask ?? of_origin.get(name.toLowerCase());
  const seen = new Set(
    traced.filter((column) => maskOf(rules, column, traced) === undefined).map(({ name }) => name.toLowerCase()),
  );
  const isSafe = ({ column, type }: ParameterUse): boolean =>
    column === null ? type === 'integer' : seen.has(column.name.toLowerCase());
  const uses = Map.groupBy(everyUse(sql_query, dialect), ({ name }) => name);
  return Object.fromEntries(
    parameters.filter(isSent).flatMap(({ name }): [string, MaskKind][] => {
      const own = uses.get(name) ?? [];
      const known = maskNamed(name) ?? own.map(({ column }) => column && maskNamed(column.name)).find((mask) => mask != null);
      if (known !== undefined && known !== null) return [[name, known]];
      return own.length > 0 && own.every(isSafe) ? [] : [[name, 'text']];
    }),
  );
}
