import type { ToolDraft } from '#core/contract/definitions/tools.ts';
import { invalidField } from '#core/errors.ts';
import type { Context, Handlers } from '#core/run.ts';
import { estimateTokens } from '#core/lib/tokens.ts';
import { refuse, toolListing } from '#snapshots/entities.ts';
import { writeGuard } from '#core/contract/definitions/write-guard.ts';
import { lastNamed, refuseLoosened } from '#core/identity/token-limits.ts';
import { guardDraft } from './guard/guard.ts';
import { createOwned, type GuardCheck } from './owned.ts';
import { ownerOf } from './owners.ts';
import { atField, type Described, prepareDefinition } from './statements.ts';
import { refuseView } from './guard/view.ts';
import { refuseMisfits } from './guard/write-guard.ts';

export const tool = createOwned<'tool', ToolDraft>('tool', {
  checked: [
    ...(Object.keys(writeGuard) as (keyof typeof writeGuard)[]),
    'connection_id',
    'sql_query',
    'parameters',
    'return_type',
    'transform_template',
    'masks',
    'view',
    'read_only',
  ],
  async refuse(context, draft, stored) {
    const { actor } = context;
    const named = stored?.name === draft.name ? null : await lastNamed(context, draft.name);
    // A new tool, or one that takes the name of another.
    if (named !== null) refuseLoosened(actor, named, draft);
    if (stored !== null || named === null) refuseLoosened(actor, stored, draft);
  },
  check: prepareTool,
  unchecked: (draft, { read_only }) => ({ ...draft, read_only }),
  // A changed statement is judged anew unless the caller says what it is.
  implied: ({ sql_query }, sent) =>
    sent.read_only === undefined && sent.sql_query !== undefined && sent.sql_query !== sql_query ? { read_only: null } : {},
  derived: (compiled, row) => ({
    output_schema: compiled?.output_schema ?? null,
    warnings: [...(compiled?.warnings ?? [])],
    tokens: compiled === undefined ? 0 : estimateTokens(JSON.stringify(toolListing(row, compiled))),
  }),
});

export const toolHandlers: Pick<Handlers, Extract<keyof Handlers, `tools.${string}`>> = {
  ...tool.handlers,
  'tools.duplicate': tool.duplicate,
};

/** Everything that must hold before a tool is stored; nothing is stored here. @param earlier what is changed or copied. */
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
  // What a template makes has other columns.
  refuseView(draft, draft.transform_template === null ? compiled.columns : null);
  const values = { ...draft, read_only };
  atField('sql_query', () => refuse(values, compiled, connection, context.app.env.SVC_ALLOW_PASSTHROUGH_SQL));
  return { values, compiled };
}
