import { beginning } from '#core/lib/text/shorten.ts';
import type { Plan, PlanStep } from '#core/contract/definitions/explain.ts';
import { kindOf } from '#core/engines/index.ts';
import type { PlanNode } from '#core/engines/shared/plans/plan-reader.ts';
import type { Source } from '#core/engines/shared/source.ts';
import { AppError } from '#core/errors.ts';
import { bind } from '#core/lib/sql/bind.ts';
import { withReads } from '#core/lib/sql/reads.ts';
import type { Handlers } from '#core/run.ts';
import { withTimeout } from '#core/lib/with-timeout.ts';
import { describeNow } from '../statements.ts';
import { boundStatement } from './bound.ts';
import { withinPreview } from './within.ts';

const LIMITS = { mode: 'read', max_rows: 2_000, max_bytes: 4 * 1024 * 1024 } as const;
/** A plan that came in time is answered, with the sizes of its tables or without. */
const SPARE_MS = 500;
const MOST_STEPS = 500;
const LONGEST_TEXT = 200_000;
/** Reading a smaller table as a whole is right. */
const LARGE_ROWS = 1_000;
const MOST_TABLES = 20;

export const explainHandlers: Pick<Handlers, 'preview.explain'> = {
  'preview.explain': async (context, input) => {
    const { app } = context;
    const { connection, dialect, parsed, values, session } = await boundStatement(context, input, false);
    const { engine, label } = kindOf(connection.db_type);
    if (engine.plans === undefined) throw new AppError('invalid', `${label.label} does not explain statements here.`);
    const [reader, source] = await Promise.all([engine.plans(), app.sources.of(connection)]);
    const { nodes, text, sizes } = await withinPreview(context, async (signal, left) => {
      const { reads } = await describeNow(source, parsed, input.sql_query, signal);
      const statement = bind(withReads(parsed, reads), dialect, values);
      const options = { ...LIMITS, timeout_ms: left(), session, signal };
      const { rows } = await (source.explain?.(statement, reader.prefix, options) ??
        source.query({ ...statement, text: reader.prefix + statement.text }, options));
      const plan = reader.read(rows);
      return {
        ...plan,
        sizes: await withTimeout(sizesOf(source, plan.nodes), left() - SPARE_MS, () => new Map<string, number>()),
      };
    });
    const [top] = nodes;
    return {
      steps: nodes.flatMap((node) => toSteps(node, 0)).slice(0, MOST_STEPS),
      highlights: nodes.flatMap((node) => highlights(node, sizes)),
      estimated_rows: top?.rows ?? null,
      cost: top?.cost ?? null,
      text: beginning(text, LONGEST_TEXT),
    };
  },
};

const toSteps = (node: PlanNode, depth: number): PlanStep[] => {
  const { operation, table = null, index = null, rows = null, cost = null, detail = null, scan = null, children } = node;
  return [
    { depth, operation, table, index, rows, cost, detail, scan },
    ...children.flatMap((child) => toSteps(child, depth + 1)),
  ];
};

const allOf = (nodes: readonly PlanNode[]): PlanNode[] => nodes.flatMap((node) => [node, ...allOf(node.children)]);

/** How many rows the tables have that are read as a whole, where the database keeps such figures. */
async function sizesOf(source: Source, nodes: readonly PlanNode[]): Promise<ReadonlyMap<string, number>> {
  const scanned = allOf(nodes).filter(({ scan, table }) => scan === 'full' && table !== undefined);
  const tables = [...new Map(scanned.map((node) => [node.table ?? '', node])).values()].slice(0, MOST_TABLES);
  const sizes = await Promise.all(
    tables.map(async ({ table: name = '', schema }) => {
      const filter = { search: name, skip: 0, limit: 50, ...(schema === undefined ? {} : { schema }) };
      // A plan without the size of a table is still a plan.
      const { items } = await source.tables(filter).catch(() => ({ items: [] }));
      const found = items.find((one) => one.name.toLowerCase() === name.toLowerCase());
      // PostgreSQL says -1 of a table that was never looked at.
      const rows = found?.estimated_rows;
      return rows === undefined || rows < 0 ? [] : [[name, rows] as const];
    }),
  );
  return new Map(sizes.flat());
}

function highlights(node: PlanNode, sizes: ReadonlyMap<string, number>): Plan['highlights'] {
  const { scan, table = null, index, rows, sorts, children } = node;
  const below = children.flatMap((child) => highlights(child, sizes));
  if (scan === 'full' && table !== null) {
    // The rows of the step are those that its condition leaves.
    const size = sizes.get(table);
    const is_large = size === undefined || size >= LARGE_ROWS;
    const message = `Full scan of ${table}${size === undefined ? '' : ` (${short(size)} rows)`}${index === undefined ? '' : ` along the index ${index}`}.`;
    return [{ severity: is_large ? 'warning' : 'info', message, table, rows: size ?? null }, ...below];
  }
  if (index !== undefined) {
    const message = `Finds rows${table === null ? '' : ` of ${table}`} by the index ${index}.`;
    return [{ severity: 'info', message, table, rows: rows ?? null }, ...below];
  }
  if (sorts !== true) return below;
  const is_large = rows !== undefined && rows >= 100 * LARGE_ROWS;
  const message = `Sorts or collects ${rows === undefined ? 'rows' : `${short(rows)} rows`} before it gives the first one.`;
  return [{ severity: is_large ? 'warning' : 'info', message, table: null, rows: rows ?? null }, ...below];
}

const short = (rows: number): string =>
  new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 }).format(rows).replace(/(?<=\d)(?=[A-Z])/, ' ');
