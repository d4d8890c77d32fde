import { beginning } from '#core/lib/text/shorten.ts';
import type { Plan, PlanStep } from '#core/contract/definitions/explain.ts';
import { DB_TYPE_CHOICES } from '#core/contract/definitions/connections.ts';
import { engineOf } from '#core/engines/index.ts';
import type { PlanNode } from '#core/engines/shared/plans/plan-reader.ts';
import type { Source } from '#core/engines/shared/source.ts';
import { AppError } from '#core/errors.ts';
import { bind } from '#core/lib/sql/bind.ts';
import { withReads } from '#core/lib/sql/reads.ts';
import type { Handlers } from '#core/context/context.ts';
import { withTimeout } from '#core/lib/with-timeout.ts';
import { describeNow } from '#core/sources/statements.ts';
import { checkPreview, withinPreview } from './check-preview.ts';

const LIMITS = { mode: 'read', max_rows: 2_000, max_bytes: 4 * 1024 * 1024 } as const;
/** Reading the sizes of tables stops this long before the deadline, so that the plan is answered without them. */
const SPARE_MS = 500;
const MAX_STEPS = 500;
const MAX_TEXT = 200_000;
/** A full scan of a smaller table is fine. */
const LARGE_ROWS = 1_000;
/** A nested loop over fewer rows is fast. */
const LARGE_LOOP = 1_000_000;
const MAX_TABLES = 20;

export const explainHandlers: Pick<Handlers, 'preview.explain'> = {
  'preview.explain': async (context, input) => {
    const { app } = context;
    const { connection, dialect, parsed, values, session } = await checkPreview(context, input, false);
    const engine = engineOf(connection.db_type);
    if (engine.plans === undefined)
      throw new AppError('invalid', `${DB_TYPE_CHOICES[connection.db_type].label} does not explain statements here.`);
    const [reader, source] = await Promise.all([engine.plans(), app.sources.of(connection)]);
    const { nodes, text, sizes } = await withinPreview(context, async (signal, left) => {
      const { reads } = await describeNow(source, parsed, input.sql_query, signal);
      const statement = bind(withReads(parsed, reads), dialect, values);
      const options = { ...LIMITS, timeout_ms: left(), session: session ?? undefined, signal };
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
      steps: nodes.flatMap((node) => toSteps(node, 0)).slice(0, MAX_STEPS),
      highlights: highlightsOf(nodes, sizes, undefined),
      estimated_rows: top?.rows ?? null,
      cost: top?.cost ?? null,
      text: beginning(text, MAX_TEXT),
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

/** Estimated rows of the tables that are scanned in full, where the database has statistics. */
async function sizesOf(source: Source, nodes: readonly PlanNode[]): Promise<ReadonlyMap<string, number>> {
  const scanned = allOf(nodes).filter(({ scan, table }) => scan === 'full' && table !== undefined);
  const tables = [...new Map(scanned.map((node) => [node.table ?? '', node])).values()].slice(0, MAX_TABLES);
  const sizes = await Promise.all(
    tables.map(async ({ table: name = '', schema }) => {
      const filter = { search: name, skip: 0, limit: 50, ...(schema === undefined ? {} : { schema }) };
      // A plan without the size of a table is still a plan.
      const { items } = await source.tables(filter).catch(() => ({ items: [] }));
      const found = items.find((one) => one.name.toLowerCase() === name.toLowerCase());
      // PostgreSQL reports -1 for a table that was never analyzed.
      const rows = found?.estimated_rows;
      return rows === undefined || rows < 0 ? [] : [[name, rows] as const];
    }),
  );
  return new Map(sizes.flat());
}

type Highlight = Plan['highlights'][number];
type Sizes = ReadonlyMap<string, number>;

/** Remarkable steps among siblings. @param above rows of their parent step. */
function highlightsOf(nodes: readonly PlanNode[], sizes: Sizes, above: number | undefined): Highlight[] {
  let before: number | undefined;
  return nodes.flatMap((node) => {
    const { source, rows } = readBy(node, sizes);
    const loop = node.repeats === undefined ? [] : loopOf(source, rows, node.repeats === 'above' ? above : before);
    const output = times(node.rows ?? rows, node.selectivity ?? 1);
    if (node.repeats !== 'above') before = node.repeats === undefined ? output : times(before, output);
    return [...loop, ...highlightOf(node, sizes), ...highlightsOf(node.children, sizes, rows)];
  });
}

/** The step that reads the rows, and how many it reads each time it runs, including those that its condition drops. */
function readBy(node: PlanNode, sizes: Sizes): { readonly source: PlanNode; readonly rows: number | undefined } {
  const { table, scan, rows, children } = node;
  if (table !== undefined) return { source: node, rows: (scan === 'full' ? sizes.get(table) : undefined) ?? rows };
  const [only, ...more] = children;
  return only === undefined || more.length > 0 ? { source: node, rows } : readBy(only, sizes);
}

const times = (one: number | undefined, other: number | undefined): number | undefined =>
  one === undefined || other === undefined ? undefined : Math.max(1, one) * Math.max(1, other);

function loopOf(source: PlanNode, rows: number | undefined, outer: number | undefined): Highlight[] {
  const { table = null, scan } = source;
  const of = table === null ? '' : ` of ${table}`;
  const all = times(outer, rows);
  if (all === undefined || outer === undefined || rows === undefined) {
    // Without estimates, only a full scan in every iteration is worth a warning.
    if (scan !== 'full') return [];
    return [{ severity: 'warning', message: `Nested loop: reads all${of} again for each row before it.`, table, rows: null }];
  }
  if (all < LARGE_LOOP) return [];
  const message = `Nested loop over about ${short(all)} rows: ${short(outer)} times ${short(Math.max(1, rows))}${of}.`;
  return [{ severity: 'warning', message, table, rows: all }];
}

function highlightOf(node: PlanNode, sizes: Sizes): Highlight[] {
  const { scan, table = null, index, rows, sorts, filters, limited } = node;
  if (scan === 'full' && table !== null) {
    // `rows` of the step counts only those that pass its condition.
    const size = sizes.get(table);
    const along = index === undefined ? '' : ` along the index ${index}`;
    if (limited === true)
      return [{ severity: 'info', message: `Reads ${table}${along} up to the limit.`, table, rows: size ?? null }];
    const is_large = size === undefined || size >= LARGE_ROWS;
    const message = `Full scan of ${table}${size === undefined ? '' : ` (${short(size)} rows)`}${along}.`;
    return [{ severity: is_large ? 'warning' : 'info', message, table, rows: size ?? null }];
  }
  if (index !== undefined) {
    const then = filters === true ? ', then filters them' : '';
    const message = `Finds rows${table === null ? '' : ` of ${table}`} by the index ${index}${then}.`;
    return [{ severity: 'info', message, table, rows: rows ?? null }];
  }
  if (sorts !== true) return [];
  const is_large = rows !== undefined && rows >= 100 * LARGE_ROWS;
  const message = `Sorts or collects ${rows === undefined ? 'rows' : `${short(rows)} rows`} before it gives the first one.`;
  return [{ severity: is_large ? 'warning' : 'info', message, table: null, rows: rows ?? null }];
}

const short = (rows: number): string =>
  new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 }).format(rows).replace(/(?<=\d)(?=[A-Z])/, ' ');
