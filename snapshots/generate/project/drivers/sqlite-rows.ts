import type { Json, QueryResult, Row } from '#core/lib/sql/result.ts';
import { uniqueNames } from '#core/engines/shared/rows.ts';
import { columnRule, type SqliteValue } from '#core/engines/sqlite/values.ts';
import type { Limits } from '../definitions.ts';

/** Collects the rows of a statement up to the limits. */
export function collectRows(
  described: readonly { readonly name: string; readonly type: string | null }[],
  lines: Iterable<readonly SqliteValue[]>,
  { writes, max_rows, max_bytes }: Limits,
): QueryResult {
  const names = uniqueNames(described.map(({ name }) => name));
  const rules = described.map(({ type }) => columnRule(type));
  const columns = names.map((name, i) => ({
    name,
    type: described[i]?.type ?? 'any',
    kind: rules[i]?.kind ?? ('json' as const),
  }));
  const rows: Row[] = [];
  let bytes = 0;
  let truncated = false;
  for (const line of lines) {
    // A writing statement must run to its end, so rows beyond the limits are only dropped.
    if (truncated) continue;
    const texts = line.map((cell, i) => rules[i]?.encode(cell) ?? 'null');
    bytes += texts.reduce((sum, text) => sum + text.length, 0);
    truncated = rows.length >= max_rows || bytes > max_bytes;
    if (truncated && !writes) break;
    if (!truncated) rows.push(Object.fromEntries(texts.map((text, i) => [names[i], JSON.parse(text) as Json])));
  }
  return { columns, rows, truncated, affected_rows: null };
}
