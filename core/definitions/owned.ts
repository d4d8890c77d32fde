import type { OwnedKind } from '#core/contract/entities.ts';
import type { Context } from '#core/context/context.ts';
import type { Compiled } from '#snapshots/freeze/compile.ts';
import { createEntity, type Entity } from './entity.ts';
import type { CheckedRecord } from '#core/records/restorable.ts';
import { guardDraft } from '#core/records/prompt-guard.ts';
import { refuseUnknownVariables } from './checks/variables.ts';
import { connectionNames } from './owners.ts';
import type { RowOf } from '#core/store/entity-table.ts';
import { changesAny, toDraft } from '#core/records/versioned.ts';
import type { ValuesOf } from './entity-store.ts';
import { type Described, isRefused, readCompiled } from '#core/sources/statements.ts';

export type GuardCheck = typeof guardDraft;

/** The differences between the kinds that belong to a connection. */
interface OwnedRules<K extends OwnedKind, D> {
  /** Fields on which the checks depend. A change of other fields needs no check and no description by the database. */
  readonly checked: readonly string[];
  /** Checks a draft before it is stored. @param earlier the record that is changed or copied. */
  check(
    this: void,
    context: Context,
    draft: D,
    checkGuard: GuardCheck,
    earlier: Described | null,
  ): Promise<CheckedRecord<ValuesOf<K>>>;
  /** Throws when the caller is not allowed to make this change. Runs for every change. @param stored null for a new record. */
  refuse?(this: void, context: Context, draft: D, stored: RowOf<K> | null): Promise<void>;
  /** Checks an earlier state before it is restored; absent: `check` does. */
  checkEarlier?(
    this: void,
    context: Context,
    draft: D,
    checkGuard: GuardCheck,
    earlier: Described | null,
  ): Promise<CheckedRecord<ValuesOf<K>>>;
  /** The values of a draft whose checked fields did not change. */
  unchecked(this: void, draft: D, stored: RowOf<K>): ValuesOf<K>;
  implied?(this: void, before: RowOf<K>, sent: Partial<D>): Partial<D>;
  /** Fields of a response that are derived from the statement. */
  derived?(this: void, compiled: Compiled | undefined, row: RowOf<K>): object;
}

export function createOwned<K extends OwnedKind, D extends Readonly<Record<string, unknown>>>(
  kind: K,
  rules: OwnedRules<K, D>,
): Entity<K, D> {
  const prepare = async (
    context: Context,
    _: string,
    draft: D,
    stored: RowOf<K> | null,
    original: RowOf<K> | null = null,
    check = rules.check,
  ): Promise<CheckedRecord<ValuesOf<K>>> => {
    await rules.refuse?.(context, draft, stored ?? original);
    const checkWhole = async (checkGuard: GuardCheck, earlier: RowOf<K> | null) => {
      const checked = await check(context, draft, checkGuard, earlier as Described | null);
      await refuseUnknownVariables(context, draft, earlier);
      return checked;
    };
    if (stored === null) return checkWhole(guardDraft, original);
    const checkGuard: GuardCheck = (...[, entity_type, values]) => guardDraft(context, entity_type, values, stored);
    if (changesAny(draft, stored, rules.checked) || (await enablesRefused(context, draft, stored)))
      return checkWhole(checkGuard, stored);
    await checkGuard(context, kind, draft);
    return { values: rules.unchecked(draft, stored), compiled: null };
  };
  return createEntity<K, D>(kind, {
    prepare: (context, id, draft, stored, original) => prepare(context, id, draft, stored, original),
    prepareEarlier: (context, earlier, stored) =>
      prepare(context, earlier.id, toDraft(earlier) as unknown as D, stored, null, rules.checkEarlier),
    ...(rules.implied === undefined ? {} : { implied: rules.implied }),
    async show(context, rows) {
      const { derived } = rules;
      const [names, compiled] = await Promise.all([
        connectionNames(
          context,
          rows.flatMap(({ connection_id }) => connection_id ?? []),
        ),
        derived === undefined
          ? null
          : readCompiled(
              context.app,
              rows.map(({ id }) => id),
            ),
      ]);
      return rows.map((row) => ({
        ...row,
        connection_name: row.connection_id === null ? null : (names.get(row.connection_id) ?? ''),
        ...derived?.(compiled?.get(row.id), row),
      })) as never;
    },
  });
}

/** Whether the change enables a record that was saved disabled, because its database refused the statement. */
async function enablesRefused(
  { app }: Context,
  draft: Readonly<Record<string, unknown>>,
  { id, enabled }: { readonly id: string; readonly enabled: boolean },
): Promise<boolean> {
  if (enabled || draft['enabled'] !== true) return false;
  const compiled = (await readCompiled(app, [id])).get(id);
  return compiled !== undefined && isRefused(compiled);
}
