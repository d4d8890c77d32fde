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
 * Returns the mask under which the request log stores each argument of a tool with masked columns; an argument without an entry
 * is stored as sent. An argument gets a column's mask when it has the column's name, or when the statement compares it with that
 * column or writes it there. Every other argument is hidden unless the statement uses it only with columns that callers see
 * unmasked: an expression, or a column outside the result, can reveal a masked value.
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
      const parameter_uses = uses.get(name) ?? [];
      const known =
        maskNamed(name) ?? parameter_uses.map(({ column }) => column && maskNamed(column.name)).find((mask) => mask != null);
      if (known !== undefined && known !== null) return [[name, known]];
      return parameter_uses.length > 0 && parameter_uses.every(isSafe) ? [] : [[name, 'text']];
    }),
  );
}
