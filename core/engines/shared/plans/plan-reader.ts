import type { Json, Row } from '#core/lib/sql/result.ts';

/** One step of a plan, with what it takes its rows from. */
export interface PlanNode {
  /** In the engine's own words. */
  readonly operation: string;
  readonly table?: string | undefined;
  readonly schema?: string | undefined;
  readonly index?: string | undefined;
  /** Rows that the engine expects it to give. */
  readonly rows?: number | undefined;
  readonly cost?: number | undefined;
  /** Conditions and keys, in the engine's own words. */
  readonly detail?: string | undefined;
  /** `full`: it reads the whole table, or all of an index; `index`: a condition finds its rows in an index. */
  readonly scan?: 'full' | 'index' | undefined;
  /** A condition drops rows after they were found by an index. */
  readonly filters?: boolean | undefined;
  /** The share of its rows that conditions leave, where `rows` counts all of them. */
  readonly kept?: number | undefined;
  /** It ends as soon as a limit is reached, as nothing drops or sorts rows in between. */
  readonly limited?: boolean | undefined;
  /** It runs again for each row of the steps before it (their rows multiply), or of the step above it. */
  readonly repeats?: 'before' | 'above' | undefined;
  /** It sorts or collects rows before it gives the first one. */
  readonly sorts?: boolean | undefined;
  readonly children: readonly PlanNode[];
}

/** How an engine explains a statement. */
export interface PlanReader {
  /** What stands before the statement; it is never run. */
  readonly prefix: string;
  /** @param rows what the database answered. */
  read(rows: readonly Row[]): { readonly text: string; readonly nodes: readonly PlanNode[] };
}

export const asObject = (value: Json | undefined): Readonly<Record<string, Json>> | null =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Readonly<Record<string, Json>>) : null;
export const asList = (value: Json | undefined): readonly Json[] => (Array.isArray(value) ? (value as readonly Json[]) : []);
export const asText = (value: Json | undefined): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;
export function asNumber(value: Json | undefined): number | undefined {
  const number = typeof value === 'string' && value !== '' ? Number(value) : value;
  return typeof number === 'number' && Number.isFinite(number) ? number : undefined;
}

/** A document that came as JSON, or as its text. */
export function asDocument(value: Json | undefined): { readonly value: Json; readonly text: string } {
  const parsed = typeof value === 'string' ? (JSON.parse(value) as Json) : (value ?? null);
  return { value: parsed, text: JSON.stringify(parsed, null, 2) };
}

export const firstCell = (rows: readonly Row[], name?: string): Json | undefined => {
  const row = rows[0] ?? {};
  return name === undefined ? Object.values(row)[0] : row[name];
};
