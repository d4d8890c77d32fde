import { and, eq, ne } from 'drizzle-orm';
import type { Selection, ToolsetDraft } from '#core/contract/definitions/toolsets.ts';
import { AppError, type FieldError, refuseFields } from '#core/errors.ts';
import type { Actor, Context, Handlers } from '#core/context/context.ts';
import { lockEntityWrites } from '#core/store/journal.ts';
import type { Db } from '#core/store/store.ts';
import { createEntity } from '../entity.ts';
import { guardDraft } from '#core/records/prompt-guard.ts';
import { EntityStore } from '#core/definitions/entity-store.ts';
import type { RowOf } from '#core/store/entity-table.ts';
import { toDraft } from '#core/records/versioned.ts';
import { membersOf, missingIds, visibleTo } from './members.ts';

type Row = RowOf<'toolset'>;

export const toolset = createEntity<'toolset', ToolsetDraft>('toolset', {
  async prepare(context, _, draft, stored, original) {
    await refuseUnknownIds(context, draft, stored ?? original ?? null);
    return { values: await prepareToolset(context, draft, stored), compiled: null };
  },
  // It may name deleted records, which select nothing.
  prepareEarlier: async (context, earlier, stored) => ({
    values: await prepareToolset(context, toDraft(earlier), stored),
    compiled: null,
  }),
  show: (_, rows) => Promise.resolve([...rows]),
  remove: removeToolset,
});

export const toolsetHandlers: Pick<Handlers, Extract<keyof Handlers, `toolsets.${string}`>> = {
  ...toolset.handlers,
  'toolsets.duplicate': toolset.duplicate,
  'toolsets.members': async (context, { id }) => membersOf(context, await toolset.noun.get(context, id)),
  'toolsets.preview': (context, rule) => membersOf(context, rule),
  'toolsets.visible': (context, { toolsets, groups }) => visibleTo(context, toolsets, groups),
};

async function prepareToolset(context: Context, draft: ToolsetDraft, stored: Row | null): Promise<ToolsetDraft> {
  const values = { ...draft, include: unique(draft.include), exclude: unique(draft.exclude), groups: [...new Set(draft.groups)] };
  refuseWidening(context, values, stored);
  await guardDraft(context, 'toolset', values, stored);
  return values;
}

const isPerson = (actor: Actor | null): boolean => actor?.type === 'admin' || actor?.type === 'system';

const LISTS = [
  'tags',
  'connection_ids',
  'tool_ids',
  'resource_ids',
  'prompt_ids',
] as const satisfies readonly (keyof Selection)[];

const unique = (selection: Selection): Selection => ({
  tags: [...new Set(selection.tags)],
  connection_ids: [...new Set(selection.connection_ids)],
  tool_ids: [...new Set(selection.tool_ids)],
  resource_ids: [...new Set(selection.resource_ids)],
  prompt_ids: [...new Set(selection.prompt_ids)],
});

/** Throws for ids without a record. Ids that the stored toolset has may stay, although their records were deleted. */
async function refuseUnknownIds(context: Context, draft: ToolsetDraft, stored: Row | null): Promise<void> {
  const faults: FieldError[] = [];
  for (const part of ['include', 'exclude'] as const) {
    for (const { list, id } of await missingIds(context, draft[part])) {
      if (stored?.[part][list].includes(id) === true) continue;
      const field = `${part}.${list}.${draft[part][list].indexOf(id)}`;
      faults.push({ field, message: `${field} does not match any ${list.replace('_ids', '')}.` });
    }
  }
  refuseFields(faults);
}

/**
 * Throws when a token would give callers more than a person allowed: new toolsets must be disabled, and enabled ones can only be
 * narrowed. `groups` is not open to tokens at all.
 */
function refuseWidening({ actor }: Context, draft: ToolsetDraft, stored: Row | null): void {
  if (isPerson(actor)) return;
  if (stored === null) {
    if (!draft.enabled) return;
    throw adminOnly('enabled', 'A toolset that a token creates must have enabled false; a person enables it.');
  }
  if (draft.enabled !== stored.enabled) {
    throw adminOnly('enabled', 'enabled can be changed only by a person who is signed in, not by a token.');
  }
  if (!stored.enabled) return;
  const isWithin = (some: Selection, all: Selection) =>
    LISTS.every((list) => some[list].every((item) => all[list].includes(item)));
  const widened = [
    ...(draft.name === stored.name ? [] : ['name']),
    ...(isWithin(draft.include, stored.include) ? [] : ['include']),
    ...(isWithin(stored.exclude, draft.exclude) ? [] : ['exclude']),
    ...(stored.read_only && !draft.read_only ? ['read_only'] : []),
  ];
  const [field] = widened;
  if (field === undefined) return;
  throw adminOnly(
    field,
    `${widened.join(', ')} would give callers of this toolset more. A token can only narrow an enabled toolset; ask a person to change it, or to disable it first.`,
  );
}

const adminOnly = (field: string, message: string): AppError =>
  new AppError('admin_only', message, { errors: [{ field, message }] });

/** Deletes a toolset. Without any enabled toolset callers see everything, so a token cannot delete the last one. */
async function removeToolset(context: Context, tx: Db, id: string): Promise<unknown> {
  const { toolsets } = context.app.store.tables;
  const noun = new EntityStore('toolset');
  // Two concurrent deletions must not count each other's toolset as remaining.
  await lockEntityWrites(context.app.store, tx);
  if (!isPerson(context.actor) && (await noun.get(context, id, tx)).enabled) {
    const others = await tx.$count(toolsets, and(eq(toolsets.enabled, true), ne(toolsets.id, id)));
    if (others === 0) {
      const detail =
        'This is the last enabled toolset. Without it every caller would see everything, so only a signed-in person can delete it, not a token.';
      throw new AppError('admin_only', detail);
    }
  }
  return noun.removeAll(context, tx, [id]);
}
