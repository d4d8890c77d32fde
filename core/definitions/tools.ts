import type { WithSources, ConnectionRow } from '#core/sources/source-pool.ts';
import type { ToolDraft } from '#core/contract/definitions/tools.ts';
import { AppError, invalidField } from '#core/errors.ts';
import type { Context, Handlers } from '#core/context/context.ts';
import { estimateTokens } from '#core/lib/tokens.ts';
import { pageColumns, refuse, shownOutput, toolListing } from '#snapshots/freeze/entities.ts';
import { planLimits, resultShape } from '#core/contract/definitions/pages.ts';
import { dialectNamed } from '#core/engines/index.ts';
import { pagingOf } from '#core/lib/sql/paging.ts';
import type { Compiled } from '#snapshots/freeze/compile.ts';
import { writeGuard } from '#core/contract/definitions/write-guard.ts';
import { lastNamed, refuseLoosened } from '#core/context/token-limits.ts';
import { guardDraft } from '#core/records/prompt-guard.ts';
import { createOwned, type GuardCheck } from './owned.ts';
import { ownerOf } from './owners.ts';
import { refuseView } from './checks/view.ts';
import { refusePlanLimits } from './checks/plan-limits.ts';
import { refuseShape } from './checks/result-shape.ts';
import {
  withinTimeout,
  atField,
  DESCRIBE_TIMEOUT_MS,
  describeWhole,
  type Described,
  isRefused,
  isUnreachable,
  prepareDefinition,
} from '#core/sources/statements.ts';
import { wholeVariant } from '#core/lib/sql/bind.ts';
import { refuseIdle, refuseMisfits } from './checks/write-guard.ts';

export const tool = createOwned<'tool', ToolDraft>('tool', {
  checked: [
    ...(Object.keys(writeGuard) as (keyof typeof writeGuard)[]),
    ...(Object.keys(resultShape) as (keyof typeof resultShape)[]),
    'max_tokens',
    ...(Object.keys(planLimits) as (keyof typeof planLimits)[]),
    'ask_missing',
    'connection_id',
    'sql_query',
    'parameters',
    'return_type',
    'transform_template',
    'masks',
    'view',
    'read_only',
    'cache_ttl_seconds',
  ],
  async refuse(context, draft, stored) {
    const { actor } = context;
    const named = stored?.name === draft.name ? null : await lastNamed(context, draft.name);
    // A new name may have belonged to another tool, whose limits count as well.
    if (named !== null) refuseLoosened(actor, named, draft);
    if (stored !== null || named === null) refuseLoosened(actor, stored, draft);
  },
  check: async (context, draft, checkGuard, earlier) => {
    const prepared = await prepareTool(context, draft, checkGuard, earlier);
    refuseIdle(draft, prepared.values.read_only);
    return prepared;
  },
  // A tool that is older than these checks can be restored.
  checkEarlier: prepareTool,
  unchecked: (draft, { read_only }) => ({ ...draft, read_only }),
  // A changed statement is classified again, unless the request sets read_only.
  implied: ({ sql_query }, sent) =>
    sent.read_only === undefined && sent.sql_query !== undefined && sent.sql_query !== sql_query ? { read_only: null } : {},
  derived: (compiled, row) => ({
    output_schema: shownOutput(row, compiled?.output_schema ?? null),
    warnings: [...(compiled?.warnings ?? [])],
    tokens: compiled === undefined ? 0 : estimateTokens(JSON.stringify(toolListing(row, compiled))),
  }),
});

export const toolHandlers: Pick<Handlers, Extract<keyof Handlers, `tools.${string}`>> = {
  ...tool.handlers,
  'tools.duplicate': tool.duplicate,
};

/** Checks a tool before it is stored. @param earlier the tool that is changed or copied. */
export async function prepareTool(
  context: Context,
  draft: ToolDraft,
  checkGuard: GuardCheck = guardDraft,
  earlier: Described | null = null,
) {
  const connection = await ownerOf(context, draft.connection_id);
  await checkGuard(context, 'tool', draft);
  const compiled = await prepareDefinition(context.app, connection, draft, earlier);
  const { classification } = compiled;
  const read_only = draft.read_only ?? classification.read_only;
  if (draft.read_only === true && !classification.read_only && classification.command !== '') {
    throw invalidField(
      'read_only',
      `read_only is true and the statement is not read-only: ${classification.reason ?? classification.command}`,
    );
  }
  refuseMisfits(draft, read_only, classification);
  // The result of a template has other columns than the statement.
  refuseView(draft, draft.transform_template === null ? compiled.columns : null);
  refuseShape(draft, read_only, classification);
  refusePlanLimits(draft, read_only, connection.db_type);
  if (draft.page_by.length > 0 && !isRefused(compiled)) await checkPages(context.app, connection, draft, compiled);
  const values = { ...draft, read_only };
  atField('sql_query', () => refuse(values, compiled, connection, context.app.env.SVC_ALLOW_PASSTHROUGH_SQL));
  const is_guarded = !read_only && !isRefused(compiled) && (draft.confirm !== 'never' || draft.max_affected_rows !== null);
  const uncounted = is_guarded ? await uncountedIn(context.app, connection, compiled) : null;
  if (uncounted === null) return { values, compiled };
  const warning = `Calls of this tool are refused as long as this holds: ${uncounted}`;
  return { values, compiled: { ...compiled, warnings: [...compiled.warnings, warning] } };
}

/** Why the changed rows of a statement cannot be counted and rolled back; null when they can, or the database is unreachable. */
async function uncountedIn(app: WithSources, connection: ConnectionRow, { statement }: Compiled): Promise<string | null> {
  try {
    const source = await app.sources.of(connection);
    const { text } = wholeVariant(statement, dialectNamed(statement.dialect));
    return (await withinTimeout(source.cannotCount?.(text) ?? Promise.resolve(null), DESCRIBE_TIMEOUT_MS)) ?? null;
  } catch (error) {
    if (isUnreachable(error)) return null;
    throw error;
  }
}

/** Has the database prepare the statement of a page, so that the author learns of ambiguous names or an invalid order. */
async function checkPages(
  app: WithSources,
  connection: ConnectionRow,
  { page_by }: ToolDraft,
  compiled: Compiled,
): Promise<void> {
  const { statement } = compiled;
  const dialect = dialectNamed(statement.dialect);
  const paging = pagingOf(statement, dialect, pageColumns(page_by, compiled, dialect), 1);
  const described = paging === null ? [] : await describeWhole(app, connection, [{ statement: paging.statement }]);
  // The check of the statement has already warned that the database is unreachable.
  if (described instanceof AppError) return;
  const [page] = described;
  if (page instanceof AppError) throw invalidField('page_by', `The database refuses the statement in pages: ${page.detail}`);
}
