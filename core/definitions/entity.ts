import { type EntityKind, type Plural, ENTITIES } from '#core/contract/entities.ts';
import { type Handlers, type Context, isIdempotent, newId } from '#core/context/context.ts';
import type { Output } from '#core/contract/index.ts';
import type { Db } from '#core/store/store.ts';
import { type RowOf, entityTable } from '#core/store/entity-table.ts';
import { type ValuesOf, type EntityStore, createEntityStore, type ListFilter } from './entity-store.ts';
import type { CheckedRecord } from '#core/records/restorable.ts';
import type * as v from 'valibot';
import type { TestOwner } from '#core/contract/definitions/tests.ts';
import { writeAlone } from '#core/store/journal.ts';
import { AppError } from '#core/errors.ts';
import { inTransaction } from '#core/records/batch.ts';
import { ownerOf, testedOf } from './owners.ts';
import { changesAny, checkVersion, retryOnConflict, toDraft } from '#core/records/versioned.ts';
import { isAdministrator } from '#core/context/roles.ts';
import { lastState, refuseFields } from '#core/context/token-limits.ts';
import { storeCompiled } from '#core/sources/statements.ts';
import { like } from 'drizzle-orm';

type Verb = 'list' | 'get' | 'create' | 'update' | 'delete';

export type EntityHandlers<K extends EntityKind> = Pick<Handlers, `${Plural<K>}.${Verb}`>;

/** A record as a response shows it. */
type Shown<K extends EntityKind> = Output<`${Plural<K>}.get`>;

/** What a noun has of its own in the life that every noun has. @template D what is to be stored. */
interface Rules<K extends EntityKind, D> {
  /**
   * Every check of a write; nothing is stored here. @param stored what the id holds now.
   * @param original what a new record is a copy of.
   */
  prepare(
    this: void,
    context: Context,
    id: string,
    draft: D,
    stored: RowOf<K> | null,
    original?: RowOf<K> | null,
  ): Promise<CheckedRecord<ValuesOf<K>>>;
  /** The same for a state that was stored before. */
  prepareEarlier(this: void, context: Context, earlier: RowOf<K>, stored: RowOf<K> | null): Promise<CheckedRecord<ValuesOf<K>>>;
  show(this: void, context: Context, rows: readonly RowOf<K>[]): Promise<Shown<K>[]>;
  /** What follows from a change for fields that it does not name. */
  implied?(this: void, before: RowOf<K>, sent: Partial<D>): Partial<D>;
  /** Deletes a record and what it owns; absent: it owns nothing but its tests. */
  remove?(this: void, context: Context, tx: Db, id: string): Promise<unknown>;
}

type ById = { readonly id: string };

type Patch = ById & { readonly version?: number | undefined };

/** The operations of one noun, and what import, rollback and agents need of it. */
export interface Entity<K extends EntityKind, D = Readonly<Record<string, unknown>>> extends Pick<
  Rules<K, D>,
  'prepare' | 'prepareEarlier'
> {
  readonly entity_type: K;
  readonly plural: Plural<K>;
  readonly schema: { readonly entries: v.ObjectEntries };
  readonly noun: EntityStore<K>;
  readonly handlers: EntityHandlers<K>;
  read(this: void, context: Context, id: string): Promise<Shown<K>>;
  delete(this: void, context: Context, id: string): Promise<Record<string, never>>;
  duplicate(this: void, context: Context, input: ById): Promise<Shown<K>>;
  create(this: void, context: Context, draft: D): Promise<Shown<K>>;
  /** Stores a new record that was checked. */
  insert(this: void, context: Context, tx: Db, checked: CheckedRecord<ValuesOf<K>>, id?: string): Promise<RowOf<K>>;
  removeAll(this: void, context: Context, tx: Db, ids: readonly string[]): Promise<unknown>;
}

export function createEntity<K extends EntityKind, D extends object>(kind: K, rules: Rules<K, D>): Entity<K, D> {
  const noun = createEntityStore(kind);
  const { plural, draft: schema } = ENTITIES[kind];
  const prepare: Rules<K, D>['prepare'] = (context, id, draft, stored, original) => {
    refuseFields(context.actor, schema.entries, stored ?? original ?? null, draft);
    return rules.prepare(context, id, draft, stored, original);
  };
  const prepareEarlier: Rules<K, D>['prepareEarlier'] = async (context, earlier, stored) => {
    const { app, actor } = context;
    const before = stored ?? (isAdministrator(actor) ? null : await lastState(app, kind, earlier.id));
    refuseFields(actor, schema.entries, before, earlier);
    return rules.prepareEarlier(context, earlier, stored);
  };

  const show = async (context: Context, row: RowOf<K>): Promise<Shown<K>> => {
    const [shown] = await rules.show(context, [row]);
    if (shown === undefined) throw new AppError('internal', `The ${kind} could not be read back.`);
    return shown;
  };
  /** What was checked may have lost its owner meanwhile. */
  const write = async (
    context: Context,
    tx: Db,
    { values, compiled }: CheckedRecord<ValuesOf<K>>,
    put: () => Promise<RowOf<K>>,
  ) => {
    const { connection_id, owner } = values as { readonly connection_id?: string | null; readonly owner?: TestOwner };
    if (typeof connection_id === 'string') await ownerOf(context, connection_id, tx);
    if (owner !== undefined) await testedOf(context, owner, tx);
    const row = await put();
    await storeCompiled(context.app, tx, [{ id: row.id, compiled }]);
    return row;
  };
  const insert: Entity<K, D>['insert'] = (context, tx, checked, id) =>
    write(context, tx, checked, () => noun.insert(context, tx, checked.values, id));

  const create = async (context: Context, draft: D, original: RowOf<K> | null = null): Promise<Shown<K>> => {
    const id = newId(context, kind, draft);
    const checked = await prepare(context, id, draft, null, original);
    return context.app.store.write(async (tx) => show(inTransaction(context, tx), await insert(context, tx, checked, id)));
  };
  const removeAll: Entity<K>['removeAll'] = async (context, tx, ids) => {
    if (rules.remove === undefined) await noun.removeAll(context, tx, ids);
    else for (const id of ids) await rules.remove(context, tx, id);
  };

  const unchanged = async (context: Context, row: RowOf<K>): Promise<Shown<K>> => {
    const shown = await show(context, row);
    return isIdempotent(context) ? { ...shown, unchanged: true } : shown;
  };

  const read = async (context: Context, id: string) => show(context, await noun.get(context, id));
  const verbs = {
    list: async (context: Context, filter: ListFilter) => {
      const { items, total } = await noun.list(context, filter);
      return { items: await rules.show(context, items), total };
    },
    get: (context: Context, { id }: ById) => read(context, id),
    create: (context: Context, draft: D) => create(context, draft),
    update: (context: Context, { id, version, ...patch }: Patch) =>
      retryOnConflict(version, async () => {
        const before = await noun.get(context, id);
        checkVersion(kind, before, version);
        const sent = Object.fromEntries(Object.entries(patch).filter(([, value]) => value !== undefined)) as Partial<D>;
        // A change that changes nothing is no version and leaves no history.
        if (Object.keys(sent).length === 0) return unchanged(context, before);
        const draft = { ...toDraft(before), ...sent, ...rules.implied?.(before, sent) } as unknown as D;
        const checked = await prepare(context, id, draft, before);
        const { values } = checked;
        if (isIdempotent(context) && !changesAny(values, before, Object.keys(values))) return unchanged(context, before);
        return context.app.store.write(async (tx) => {
          const put = () => noun.update(context, tx, id, version ?? before.version, checked.values);
          return show(inTransaction(context, tx), await write(context, tx, checked, put));
        });
      }),
    /** @param version what somebody read and deletes; a record that was changed since stays. */
    delete: async (context: Context, { id, version }: Patch): Promise<Record<string, never>> => {
      await context.app.store.write(async (tx) => {
        if (version !== undefined) {
          await writeAlone(context.app.store, tx);
          checkVersion(kind, await noun.get(context, id, tx), version);
        }
        return removeAll(context, tx, [id]);
      });
      context.app.sources.drop(id);
      return {};
    },
  } satisfies Record<Verb, unknown>;

  return {
    entity_type: kind,
    plural,
    schema,
    noun,
    prepare,
    prepareEarlier,
    removeAll,
    insert,
    read,
    create: verbs.create,
    delete: (context, id) => verbs.delete(context, { id }),
    async duplicate(context, { id }) {
      const original = await noun.get(context, id);
      for (let attempt = 1; ; attempt++) {
        const name = await copyName(context, kind, original.name);
        try {
          return await create(context, { ...toDraft(original), name } as unknown as D, original);
        } catch (error) {
          // Another copy had the same name: nobody chose it, so the next one will do.
          if (attempt === COPY_ATTEMPTS || !isTaken(error)) throw error;
        }
      }
    },
    handlers: Object.fromEntries(
      Object.entries(verbs).map(([verb, handler]) => [`${plural}.${verb}`, handler]),
    ) as unknown as EntityHandlers<K>,
  };
}

const COPY_ATTEMPTS = 20;

const isTaken = (error: unknown): boolean =>
  error instanceof AppError && error.code === 'conflict' && error.errors[0]?.field === 'name';

/** `<name>_copy`, `_copy_2` …, cut so that it stays a name. */
async function copyName({ app }: Context, kind: EntityKind, name: string): Promise<string> {
  const table = entityTable(app.store, kind);
  const { sign, longest } = kind === 'toolset' ? { sign: '-', longest: 32 } : { sign: '_', longest: 64 };
  const stem = name.slice(0, longest - 14);
  const rows = await app.store.db
    .select({ name: table.name })
    .from(table)
    .where(like(table.name, `${stem}%`));
  const taken = new Set(rows.map((row) => row.name));
  for (let n = 1; ; n++) {
    const suffix = n === 1 ? `${sign}copy` : `${sign}copy${sign}${n}`;
    const candidate = `${name.slice(0, longest - suffix.length)}${suffix}`;
    if (!taken.has(candidate)) return candidate;
  }
}
