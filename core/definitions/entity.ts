import { type EntityKind, type Plural, ENTITIES } from '#core/contract/entities.ts';
import { type Handlers, type Context, isIdempotent, newId } from '#core/context/context.ts';
import type { Output } from '#core/contract/index.ts';
import type { Db } from '#core/store/store.ts';
import { type RowOf, entityTable } from '#core/store/entity-table.ts';
import { EntityStore, type ListFilter, type ValuesOf } from './entity-store.ts';
import type { CheckedRecord } from '#core/records/restorable.ts';
import type * as v from 'valibot';
import type { TestOwner } from '#core/contract/definitions/tests.ts';
import { lockEntityWrites } from '#core/store/journal.ts';
import { AppError } from '#core/errors.ts';
import { inTransaction } from '#core/records/batch.ts';
import { ownerOf, testedOf } from './owners.ts';
import { changesAny, checkVersion, retryOnConflict, toDraft } from '#core/records/versioned.ts';
import { isAdministrator } from '#core/context/roles.ts';
import { maskDangers, requireProof } from '#core/context/proof.ts';
import { lastState, refuseFields } from '#core/context/token-limits.ts';
import { storeCompiled } from '#core/sources/statements.ts';
import { like } from 'drizzle-orm';

type Verb = 'list' | 'get' | 'create' | 'update' | 'delete';

export type EntityHandlers<K extends EntityKind> = Pick<Handlers, `${Plural<K>}.${Verb}`>;

/** A record as a response shows it. */
type Shown<K extends EntityKind> = Output<`${Plural<K>}.get`>;

/** The differences between the kinds of records. @template D the draft. */
interface Rules<K extends EntityKind, D> {
  /** Applies every check of a write. @param stored the present record. @param original the record that a new one is a copy of. */
  prepare(
    this: void,
    context: Context,
    id: string,
    draft: D,
    stored: RowOf<K> | null,
    original?: RowOf<K> | null,
  ): Promise<CheckedRecord<ValuesOf<K>>>;
  /** Applies the checks of a write to an earlier state. */
  prepareEarlier(this: void, context: Context, earlier: RowOf<K>, stored: RowOf<K> | null): Promise<CheckedRecord<ValuesOf<K>>>;
  show(this: void, context: Context, rows: readonly RowOf<K>[]): Promise<Shown<K>[]>;
  /** Further fields that a change sets. */
  implied?(this: void, before: RowOf<K>, sent: Partial<D>): Partial<D>;
  /** Deletes a record and what belongs to it; absent when only tests belong to it. */
  remove?(this: void, context: Context, tx: Db, id: string): Promise<unknown>;
}

type ById = { readonly id: string };

type Patch = ById & { readonly version?: number | undefined };

/** The operations of one kind, and the functions that imports, rollbacks and agents use. */
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
  /** Stores a new record that `prepare` has checked. */
  insert(this: void, context: Context, tx: Db, checked: CheckedRecord<ValuesOf<K>>, id?: string): Promise<RowOf<K>>;
  removeAll(this: void, context: Context, tx: Db, ids: readonly string[]): Promise<unknown>;
}

export function createEntity<K extends EntityKind, D extends object>(kind: K, rules: Rules<K, D>): Entity<K, D> {
  const records = new EntityRecords(kind, rules);
  const { plural, draft: schema } = ENTITIES[kind];
  const verbs = {
    list: (context: Context, filter: ListFilter) => records.list(context, filter),
    get: (context: Context, { id }: ById) => records.read(context, id),
    create: (context: Context, draft: D) => records.create(context, draft),
    update: (context: Context, { id, version, ...patch }: Patch) => records.update(context, id, version, patch),
    delete: (context: Context, { id, version }: Patch) => records.delete(context, id, version),
  } satisfies Record<Verb, unknown>;
  return {
    entity_type: kind,
    plural,
    schema,
    noun: records.noun,
    prepare: (context, id, draft, stored, original) => records.prepare(context, id, draft, stored, original),
    prepareEarlier: (context, earlier, stored) => records.prepareEarlier(context, earlier, stored),
    removeAll: (context, tx, ids) => records.removeAll(context, tx, ids),
    insert: (context, tx, checked, id) => records.insert(context, tx, checked, id),
    read: (context, id) => records.read(context, id),
    create: (context, draft) => records.create(context, draft),
    delete: (context, id) => records.delete(context, id),
    duplicate: (context, { id }) => records.duplicate(context, id),
    handlers: Object.fromEntries(
      Object.entries(verbs).map(([verb, handler]) => [`${plural}.${verb}`, handler]),
    ) as EntityHandlers<K>,
  };
}

/** The records of one kind, with every check of a write. */
class EntityRecords<K extends EntityKind, D extends object> {
  readonly noun: EntityStore<K>;
  readonly #kind: K;
  readonly #rules: Rules<K, D>;
  readonly #schema: { readonly entries: v.ObjectEntries };

  constructor(kind: K, rules: Rules<K, D>) {
    this.noun = new EntityStore(kind);
    this.#kind = kind;
    this.#rules = rules;
    this.#schema = ENTITIES[kind].draft;
  }

  async prepare(
    context: Context,
    id: string,
    draft: D,
    stored: RowOf<K> | null,
    original?: RowOf<K> | null,
  ): Promise<CheckedRecord<ValuesOf<K>>> {
    refuseFields(context.actor, this.#schema.entries, stored ?? original ?? null, draft);
    await requireProof(context, maskDangers(stored ?? original ?? null, draft));
    return this.#rules.prepare(context, id, draft, stored, original);
  }

  async prepareEarlier(context: Context, earlier: RowOf<K>, stored: RowOf<K> | null): Promise<CheckedRecord<ValuesOf<K>>> {
    const { app, actor } = context;
    const before = stored ?? (isAdministrator(actor) ? null : await lastState(app, this.#kind, earlier.id));
    refuseFields(actor, this.#schema.entries, before, earlier);
    await requireProof(context, maskDangers(stored, earlier));
    return this.#rules.prepareEarlier(context, earlier, stored);
  }

  async list(context: Context, filter: ListFilter): Promise<{ items: Shown<K>[]; total: number }> {
    const { items, total } = await this.noun.list(context, filter);
    return { items: await this.#rules.show(context, items), total };
  }

  async read(context: Context, id: string): Promise<Shown<K>> {
    return this.#show(context, await this.noun.get(context, id));
  }

  /** @param original the record that the new one is a copy of. */
  async create(context: Context, draft: D, original: RowOf<K> | null = null): Promise<Shown<K>> {
    const id = newId(context, this.#kind, draft);
    const checked = await this.prepare(context, id, draft, null, original);
    return context.app.store.write(async (tx) =>
      this.#show(inTransaction(context, tx), await this.insert(context, tx, checked, id)),
    );
  }

  async duplicate(context: Context, id: string): Promise<Shown<K>> {
    const original = await this.noun.get(context, id);
    for (let attempt = 1; ; attempt++) {
      const name = await copyName(context, this.#kind, original.name);
      try {
        return await this.create(context, { ...toDraft(original), name } as D, original);
      } catch (error) {
        // Another copy took this generated name first. The next attempt generates another one.
        if (attempt === COPY_ATTEMPTS || !isTaken(error)) throw error;
      }
    }
  }

  update(context: Context, id: string, version: number | undefined, patch: object): Promise<Shown<K>> {
    return retryOnConflict(version, async () => {
      const before = await this.noun.get(context, id);
      checkVersion(this.#kind, before, version);
      const sent = Object.fromEntries(Object.entries(patch).filter(([, value]) => value !== undefined)) as Partial<D>;
      // A change without fields makes no version and no history entry.
      if (Object.keys(sent).length === 0) return this.#unchanged(context, before);
      const draft = { ...toDraft(before), ...sent, ...this.#rules.implied?.(before, sent) } as D;
      const checked = await this.prepare(context, id, draft, before);
      const { values } = checked;
      if (isIdempotent(context) && !changesAny(values, before, Object.keys(values))) return this.#unchanged(context, before);
      return context.app.store.write(async (tx) => {
        const put = () => this.noun.update(context, tx, id, version ?? before.version, values);
        return this.#show(inTransaction(context, tx), await this.#write(context, tx, checked, put));
      });
    });
  }

  /** @param version when given, a record that was changed since this version is not deleted. */
  async delete(context: Context, id: string, version?: number): Promise<Record<string, never>> {
    await context.app.store.write(async (tx) => {
      if (version !== undefined) {
        await lockEntityWrites(context.app.store, tx);
        checkVersion(this.#kind, await this.noun.get(context, id, tx), version);
      }
      return this.removeAll(context, tx, [id]);
    });
    context.app.sources.drop(id);
    return {};
  }

  insert(context: Context, tx: Db, checked: CheckedRecord<ValuesOf<K>>, id?: string): Promise<RowOf<K>> {
    return this.#write(context, tx, checked, () => this.noun.insert(context, tx, checked.values, id));
  }

  async removeAll(context: Context, tx: Db, ids: readonly string[]): Promise<void> {
    if (this.#rules.remove === undefined) await this.noun.removeAll(context, tx, ids);
    else for (const id of ids) await this.#rules.remove(context, tx, id);
  }

  /** Stores a checked record. Checks its owner again, which may have been deleted since. */
  async #write(
    context: Context,
    tx: Db,
    { values, compiled }: CheckedRecord<ValuesOf<K>>,
    put: () => Promise<RowOf<K>>,
  ): Promise<RowOf<K>> {
    const { connection_id, owner } = values as { readonly connection_id?: string | null; readonly owner?: TestOwner };
    if (typeof connection_id === 'string') await ownerOf(context, connection_id, tx);
    if (owner !== undefined) await testedOf(context, owner, tx);
    const row = await put();
    await storeCompiled(context.app, tx, [{ id: row.id, compiled }]);
    return row;
  }

  async #show(context: Context, row: RowOf<K>): Promise<Shown<K>> {
    const [shown] = await this.#rules.show(context, [row]);
    if (shown === undefined) throw new AppError('internal', `The ${this.#kind} could not be read back.`);
    return shown;
  }

  async #unchanged(context: Context, row: RowOf<K>): Promise<Shown<K>> {
    const shown = await this.#show(context, row);
    return isIdempotent(context) ? { ...shown, unchanged: true } : shown;
  }
}

const COPY_ATTEMPTS = 20;

const isTaken = (error: unknown): boolean =>
  error instanceof AppError && error.code === 'conflict' && error.errors[0]?.field === 'name';

/** `<name>_copy`, `<name>_copy_2` …, shortened to the maximum length of a name. */
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
