import { Tool, ToolDraft } from '#core/contract/definitions/tools.ts';
import { AppError } from '#core/errors.ts';
import { toInvalid } from '#core/process/issues.ts';
import { readValue } from '#core/process/read-value.ts';
import { type Context, type Handlers, newId } from '#core/context/context.ts';
import { inTransaction } from '#core/records/batch.ts';
import { recordBlocked } from '#core/records/blocked.ts';
import { tool } from '#core/definitions/tools.ts';

/** A tool that passed every check of a write, and its id. */
interface CheckedTool {
  readonly id: string;
  readonly checked: Awaited<ReturnType<typeof tool.prepare>>;
}
type ToolFault = { index: number; name: string | null; error: string };

export const batchToolHandlers: Pick<Handlers, 'agent.create_tools_batch'> = {
  'agent.create_tools_batch': async (context, { tools: drafts, atomic }) => {
    const created: Tool[] = [];
    const errors: ToolFault[] = [];
    const ready: { index: number; name: string; prepared: CheckedTool }[] = [];
    for (const [index, draft] of drafts.entries()) {
      const name = typeof draft['name'] === 'string' ? draft['name'] : null;
      await noteFault(errors, index, name, async () => {
        const parsed = await checked(context, draft);
        ready.push({ index, name: parsed.checked.values.name, prepared: parsed });
      });
    }
    if (atomic && errors.length === 0) await storeAll(context, ready, created, errors);
    if (!atomic) {
      for (const { index, name, prepared } of ready) {
        await noteFault(errors, index, name, async () => {
          created.push(await context.app.store.write((tx) => store(context, tx, prepared)));
        });
      }
    }
    errors.sort((a, b) => a.index - b.index);
    return { created, errors, total_created: created.length, total_errors: errors.length };
  },
};

type Tx = Parameters<Parameters<Context['app']['store']['write']>[0]>[0];

/** Applies the checks of creating one tool, and records in history that a control blocked it. */
async function checked(context: Context, draft: Record<string, unknown>): Promise<CheckedTool> {
  const allowed = Object.keys(ToolDraft.entries);
  // Read-only fields of a tool are dropped, as they are when a single tool is created.
  const sent = Object.fromEntries(
    Object.entries(draft).filter(([name]) => allowed.includes(name) || !Object.hasOwn(Tool.entries, name)),
  );
  const result = readValue(ToolDraft, sent);
  if (!result.success) throw toInvalid(result.issues, allowed);
  const id = newId(context, 'tool', result.output);
  try {
    return { id, checked: await tool.prepare(context, id, result.output, null) };
  } catch (error) {
    if (error instanceof AppError) await recordBlocked(context, 'tool', result.output, error);
    throw error;
  }
}

async function store(context: Context, tx: Tx, { id, checked }: CheckedTool): Promise<Tool> {
  const row = await tool.insert(context, tx, checked, id);
  return tool.read(inTransaction(context, tx), row.id);
}

/** Stores all tools in one transaction, or none. */
async function storeAll(
  context: Context,
  ready: readonly { index: number; name: string; prepared: CheckedTool }[],
  created: Tool[],
  errors: ToolFault[],
): Promise<void> {
  let at = ready[0];
  const written = context.proposal_run?.written;
  const before = written?.length ?? 0;
  try {
    const stored = await context.app.store.write(async (tx) => {
      const tools: Tool[] = [];
      for (const item of ready) {
        at = item;
        tools.push(await store(context, tx, item.prepared));
      }
      return tools;
    });
    created.push(...stored);
  } catch (error) {
    if (!(error instanceof AppError) || at === undefined) throw error;
    written?.splice(before);
    errors.push({ index: at.index, name: at.name, error: error.detail });
  }
}

async function noteFault(errors: ToolFault[], index: number, name: string | null, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    errors.push({ index, name, error: error.detail });
  }
}
