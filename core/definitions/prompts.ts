import { and, eq } from 'drizzle-orm';
import type { Prompt, PromptDraft } from '#core/contract/prompts.ts';
import type { Schema } from '#core/store/schema.ts';
import { parseTemplate } from '#core/lib/template/parse.ts';
import { AppError, type FieldError, invalidField } from '#core/errors.ts';
import type { Context, Handlers } from '#core/run.ts';
import { connectionNames, ownerOf } from './connections.ts';
import { anyTag, checkVersion, overtaking, toDraft, touches } from './records.ts';
import { guardDraft } from './guard/guard.ts';
import { prompts } from './nouns.ts';
import { atField } from './statements.ts';

type PromptRow = Schema['prompts']['$inferSelect'];

export const promptHandlers: Pick<Handlers, Extract<keyof Handlers, `prompts.${string}`>> = {
  'prompts.list': async (context, { connection_id, tags, ...filter }) => {
    const { prompts: table } = context.app.store.tables;
    const where = and(connection_id === undefined ? undefined : eq(table.connection_id, connection_id), anyTag(table, tags));
    const { items, total } = await prompts.list(context, filter, where);
    return { items: await toPrompts(context, items), total };
  },
  'prompts.get': async (context, { id }) => toPrompt(context, await prompts.get(context, id)),
  'prompts.create': async (context, draft) => {
    const values = await preparePrompt(context, draft);
    return toPrompt(
      context,
      await context.app.store.write(async (tx) => {
        if (values.connection_id !== null) await ownerOf(context, values.connection_id, tx);
        return prompts.insert(context, tx, values);
      }),
    );
  },
  'prompts.update': (context, { id, version, ...patch }) =>
    overtaking(version, async () => {
      const before = await prompts.get(context, id);
      checkVersion('prompt', before, version);
      const sent = Object.fromEntries(Object.entries(patch).filter(([, value]) => value !== undefined));
      const values = await preparePromptChange(context, { ...toDraft(before), ...sent }, before);
      const row = await context.app.store.write((tx) => prompts.update(context, tx, id, version ?? before.version, values));
      return toPrompt(context, row);
    }),
  'prompts.delete': async (context, { id }) => {
    await context.app.store.write((tx) => prompts.remove(context, tx, id));
    return {};
  },
};

/** Everything that must hold before a prompt is stored. */
export async function preparePrompt(
  context: Context,
  draft: PromptDraft,
  judge: typeof guardDraft = guardDraft,
): Promise<PromptDraft> {
  if (draft.connection_id !== null) await ownerOf(context, draft.connection_id);
  const faults = argumentFaults(draft);
  if (faults.length > 0) throw new AppError('invalid', faults.map(({ message }) => message).join(' '), { errors: faults });
  if ((draft.template === null) === (draft.messages === null)) {
    throw invalidField('template', 'A prompt has either a template or messages. Send one of them.');
  }
  await judge(context, 'prompt', draft);
  if (draft.template !== null) atField('template', () => parseTemplate(draft.template ?? ''));
  for (const [n, { template }] of (draft.messages ?? []).entries())
    atField(`messages.${n}.template`, () => parseTemplate(template));
  return draft;
}

const CHECKED = ['connection_id', 'arguments', 'template', 'messages'];

/** The same for a change of a stored prompt; what it does not touch is not checked. */
export async function preparePromptChange(context: Context, draft: PromptDraft, stored: PromptRow): Promise<PromptDraft> {
  const judge: typeof guardDraft = (...[, entity_type, values]) => guardDraft(context, entity_type, values, stored);
  if (touches(draft, stored, CHECKED)) return preparePrompt(context, draft, judge);
  await judge(context, 'prompt', draft);
  return draft;
}

const argumentFaults = ({ arguments: list }: PromptDraft): FieldError[] =>
  list.flatMap(({ name }, n) =>
    list.findIndex((other) => other.name === name) === n
      ? []
      : [{ field: `arguments.${n}.name`, message: `The argument ${name} is declared twice.` }],
  );

async function toPrompt(context: Context, row: PromptRow): Promise<Prompt> {
  const [prompt] = await toPrompts(context, [row]);
  if (prompt === undefined) throw new AppError('internal', 'The prompt could not be read back.');
  return prompt;
}

async function toPrompts(context: Context, rows: readonly PromptRow[]): Promise<Prompt[]> {
  const owners = rows.flatMap(({ connection_id }) => connection_id ?? []);
  const names = await connectionNames(context, owners);
  return rows.map((row) => ({
    ...row,
    connection_name: row.connection_id === null ? null : (names.get(row.connection_id) ?? null),
  }));
}
