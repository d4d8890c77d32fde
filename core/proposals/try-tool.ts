import type { Input, Output } from '#core/contract/index.ts';
import type { Context, RunOperations } from '#core/context/context.ts';
import { AppError, invalidField } from '#core/errors.ts';
import { actorOf } from './author.ts';
import { openOverlay } from './overlay.ts';
import { applyAll, type ProposalsApp } from './overlays.ts';
import { callOf } from './propose.ts';
import { type OperationRow, type ProposalRow, toStep } from './rows.ts';

const MOST_ROWS = 100;

/** Runs a tool with a proposal applied, with the rights of the reviewer. Stores nothing. */
export async function tryTool(
  context: Context<ProposalsApp>,
  runner: RunOperations,
  row: ProposalRow,
  operations: readonly OperationRow[],
  { tool_id, arguments: values }: Input<'proposals.try'>,
): Promise<Output<'proposals.try'>> {
  const { app } = context;
  if (tool_id === undefined) throw invalidField('tool_id', 'tool_id is required.');
  if (!operations.some(({ touched }) => touched.some((record) => record.entity_type === 'tool' && record.entity_id === tool_id)))
    throw new AppError('not_found', 'The proposal does not create or change a tool with this id.');
  const overlay = await openOverlay(app, row);
  const call = callOf(context);
  try {
    const steps = operations.map((operation) => toStep(app, operation));
    await applyAll(overlay, runner, steps, { ...call, actor: await actorOf(app, row.author) });
    const tool = (await overlay.tryRead(runner, { operation: 'tools.get', input: { id: tool_id } }, call)) as Output<'tools.get'>;
    const { name, read_only, parameters } = tool;
    if (values === undefined) return { name, read_only, parameters, preview: null };
    if (!read_only) throw new AppError('invalid', `${name} changes data, so it cannot be tried before it is approved.`);
    const { connection_id, sql_query, transform_template, masks, return_type, text_format } = tool;
    const { max_plan_rows, max_plan_cost, plan_limit } = tool;
    const limits = { max_plan_rows, max_plan_cost, plan_limit };
    const statement = { connection_id, sql_query, transform_template, masks, return_type, text_format, ...limits };
    const bound = { parameters: values, definitions: parameters, from: {}, limit: MOST_ROWS };
    const input: Input<'preview.execute'> = { ...statement, ...bound };
    const preview = (await overlay.tryRead(runner, { operation: 'preview.execute', input }, call)) as Output<'preview.execute'>;
    return { name, read_only, parameters, preview };
  } finally {
    await overlay.close();
  }
}
