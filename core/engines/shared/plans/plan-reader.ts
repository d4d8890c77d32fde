import type { Json, Row } from '#core/lib/sql/result.ts';

/** One step of a plan; its children are the steps that it reads rows from. */
export interface PlanNode {
  /** The name that the engine uses. */
  readonly operation: string;
  readonly table?: string | undefined;
  readonly schema?: string | undefined;
  readonly index?: string | undefined;
  /** Number of rows that the engine estimates. */
  readonly rows?: number | undefined;
  readonly cost?: number | undefined;
  /** Conditions and keys, as the engine writes them. */
  readonly detail?: string | undefined;
  /** `full`: reads the whole table or a whole index; `index`: finds rows with a condition on an index. */
  readonly scan?: 'full' | 'index' | undefined;
  /** True when a condition drops rows that an index found. */
  readonly filters?: boolean | undefined;
  /** The share of rows (0 to 1) that satisfy the conditions, when `rows` counts all rows. */
  readonly selectivity?: number | undefined;
  /** True when it ends as soon as a limit is reached, because no step in between drops or sorts rows. */
  readonly limited?: boolean | undefined;
  /** It runs again for each row of the steps before it (their row counts multiply), or of the step above it. */
  readonly repeats?: 'before' | 'above' | undefined;
  /** True when the plan has no step for the join: its rows multiply those of the steps before it. */
  readonly multiplies?: boolean | undefined;
  /** The number of parallel processes that each return about this many rows. */
  readonly processes?: number | undefined;
  /** True when it sorts or collects rows before it returns the first one. */
  readonly sorts?: boolean | undefined;
  readonly children: readonly PlanNode[];
}

/** How an engine explains a statement. */
export interface PlanReader {
  /** Put in front of the statement, which is not run. */
  readonly prefix: string;
  /** @param rows the answer of the database. */
  readonly read: (rows: readonly Row[]) => { readonly text: string; readonly nodes: readonly PlanNode[] };
  /** Reads row counts, where another statement returns them. */
  readonly estimates?: {
    readonly prefix: string;
    readonly read: (rows: readonly Row[]) => { readonly nodes: readonly PlanNode[] };
  };
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

/** A document that the driver returns as JSON or as JSON text. */
export function asDocument(value: Json | undefined): { readonly value: Json; readonly text: string } {
  const parsed = typeof value === 'string' ? (JSON.parse(value) as Json) : (value ?? null);
  return { value: parsed, text: JSON.stringify(parsed, null, 2) };
}

export const firstCell = (rows: readonly Row[], name?: string): Json | undefined => {
  const row = rows[0] ?? {};
  return name === undefined ? Object.values(row)[0] : row[name];
};
