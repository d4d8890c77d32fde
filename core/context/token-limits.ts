import type { Platform } from '#core/platform/platform.ts';
import { and, eq, inArray, max, ne } from 'drizzle-orm';
import * as v from 'valibot';
import { TOKEN_SETTINGS } from '#core/contract/settings/config.ts';
import type { EntityKind } from '#core/contract/entities.ts';
import { ConnectionDraft, MASK } from '#core/contract/definitions/connections.ts';
import { type WriteGuardFields, loosened } from '#core/contract/definitions/write-guard.ts';
import { marked, openNames } from '#core/contract/marks.ts';
import type { EntityType } from '#core/contract/history.ts';
import { engineOf } from '#core/engines/index.ts';
import { trustOf } from '#core/engines/shared/tls.ts';
import { AppError } from '#core/errors.ts';
import type { Actor, Context } from './context.ts';
import { canonical, checksum } from '#snapshots/format/canonical.ts';
import type { FrozenConnection, FrozenServer, FrozenTool, SnapshotContent } from '#snapshots/format/format.ts';
import { entityTable, type RowOf } from '#core/store/entity-table.ts';
import { isUnmasked, type Masked } from './proof.ts';
import { isAdministrator, isPerson } from './roles.ts';
import { differs, type Settings } from '#core/settings/settings.ts';
import type { ConnectionRow } from '#core/sources/source-pool.ts';
import { type AnySsh, changesSsh, unsentSshSecrets, sshAddress } from './ssh-secrets.ts';
import { isReference, isSealed, referencesIn, secretsIn } from '#core/lib/sealed-values.ts';

// Limits of tokens and editors. They apply to every kind of change: writes, imports, rollbacks and restored versions.

/** Throws `admin_only` if a token changes a setting that is not open to tokens. The message names the fields. */
export function refuseSettings(actor: Actor | null, before: Settings, after: Settings): void {
  if (isAdministrator(actor)) return;
  const fields = Object.keys(after) as (keyof Settings)[];
  refuseClosed(fields.filter((field) => differs(field, before, after)));
}

/**
 * Like `refuseSettings`, for the settings of a snapshot that is activated. A secret that was only encrypted again counts as
 * unchanged.
 */
function refuseServer(before: FrozenServer, after: FrozenServer): void {
  // A snapshot from another release can have other fields.
  const fields = [...new Set([...Object.keys(before), ...Object.keys(after)])] as (keyof FrozenServer)[];
  const comparable = (value: unknown) => checksum(canonical(value ?? null));
  refuseClosed(fields.filter((field) => comparable(before[field]) !== comparable(after[field])));
}

/** Throws `admin_only` if a token changes a field that is not open to tokens. A missing field counts as its default. */
export function refuseFields(actor: Actor | null, entries: v.ObjectEntries, before: object | null, after: object): void {
  if (isAdministrator(actor)) return;
  const open = openNames(entries);
  const [old, now] = [before ?? v.getDefaults(v.object(entries)), after] as Readonly<Record<string, unknown>>[];
  const closed = Object.keys(entries).filter((field) => !open.has(field));
  refuseNamed(closed.filter((field) => canonical(old?.[field] ?? null) !== canonical(now?.[field] ?? null)));
}

function refuseClosed(changed: readonly string[]): void {
  refuseNamed(changed.filter((field) => !TOKEN_SETTINGS.has(field)));
}

function refuseNamed(fields: readonly string[]): void {
  const errors = fields.map((field) => ({
    field,
    message: `${field} can be changed only by a signed-in administrator.`,
  }));
  if (errors.length === 0) return;
  throw new AppError('admin_only', errors.map(({ message }) => message).join(' '), { errors });
}

/** Throws `admin_only` if a token or an editor lets a tool change more rows, or requires fewer confirmations. */
export function refuseLoosened(actor: Actor | null, before: WriteGuardFields | null, after: WriteGuardFields): void {
  if (isAdministrator(actor)) return;
  refuseNamed(before === null ? (after.two_step === true ? ['two_step'] : []) : loosened(before, after));
}

/**
 * The last state of the tool that had this name. Checks against it, so that deleting or renaming a tool first is no way around
 * the limit.
 */
export async function lastNamed({ app: { store }, actor }: Context, name: string): Promise<WriteGuardFields | null> {
  if (isAdministrator(actor)) return null;
  return (await lastStates(store, 'tool', 'entity_name', [name])).get(name) ?? null;
}

const ADDRESS = marked(ConnectionDraft.entries, ({ address }) => address === true).map(
  ([name]) => name as keyof ConnectionTarget,
);

/** Fields that decide whether rows can be written and which server receives the secrets of a connection. */
type ConnectionTarget = Pick<
  ConnectionRow,
  'db_type' | 'host' | 'port' | 'database' | 'username' | 'ssl_ca' | 'ssl_mode' | 'read_only' | 'extra_params'
> & {
  readonly password: unknown;
  readonly ssl_key: unknown;
  readonly ssh?: AnySsh | null;
};

/**
 * Throws if a token makes a read-only connection writable, or sends a stored secret to another address without entering it again.
 */
export function refuseConnection(actor: Actor | null, before: ConnectionTarget | null, after: ConnectionTarget): void {
  if (isAdministrator(actor)) return;
  if (!isPerson(actor, 'editor') && changesSsh(before?.ssh, after.ssh)) {
    const message = 'ssh can be changed only by a signed-in person.';
    throw new AppError('admin_only', message, { errors: [{ field: 'ssh', message }] });
  }
  if (before === null) return;
  refuseWritable(before, after);
  const moved = movedFields(before, after);
  const stored = moved.length === 0 ? [] : storedSecrets(before, after, moved.includes('ssh'));
  if (stored.length === 0) return;
  const message = `${moved.join(', ')} changes where a stored secret is sent: send ${stored.join(', ')} again with the change.`;
  throw new AppError('secret_required', message, { errors: stored.map((field) => ({ field, message })) });
}

function refuseWritable(before: ConnectionTarget, after: ConnectionTarget): void {
  if (!before.read_only || after.read_only) return;
  const message = 'read_only can be turned off only by a signed-in administrator.';
  throw new AppError('admin_only', message, { errors: [{ field: 'read_only', message }] });
}

/**
 * Refuses other session values and roles: the database uses them to decide which rows a caller can read. A snapshot omits unset
 * ones.
 */
function refuseOtherCallers(before: SessionRules, { session_values = [], session_role = null }: SessionRules): void {
  const fields = [
    ...(canonical(before.session_values ?? []) === canonical(session_values) ? [] : ['session_values']),
    ...(canonical(before.session_role ?? null) === canonical(session_role) ? [] : ['session_role']),
  ];
  refuseNamed(fields);
}

type SessionRules = Pick<FrozenConnection, 'session_values' | 'session_role'>;

function movedFields(before: ConnectionTarget, after: ConnectionTarget): string[] {
  const moved: string[] = ADDRESS.filter((field) =>
    field === 'ssh' ? sshAddress(after.ssh) !== sshAddress(before.ssh) : after[field] !== before[field],
  );
  // The engine of `after` is used for both, because another `db_type` counts as another address anyway.
  const over_http = engineOf(after.db_type).over_http === true;
  return trustOf(after, over_http) < trustOf(before, over_http) ? [...moved, 'ssl_mode'] : moved;
}

const storedSecrets = (before: ConnectionTarget, after: ConnectionTarget, ssh_moved: boolean): string[] => [
  ...(isStored(before.password, after.password) ? ['password'] : []),
  ...(isStored(before.ssl_key, after.ssl_key) ? ['ssl_key'] : []),
  ...Object.entries(after.extra_params)
    .filter(([key, value]) => isSealed(value) || (value === MASK && isSealed(before.extra_params[key])))
    .map(([key]) => `extra_params.${key}`),
  ...(ssh_moved ? unsentSshSecrets(before.ssh, after.ssh) : []),
];

/** Nothing is sent again with a version, so each of its references counts too. */
const hasSecret = ({ password, ssl_key, extra_params, ssh = null }: FrozenConnection): boolean =>
  [password, ssl_key, ...Object.values(extra_params)].some((value) => isSealed(value) || isReference(value)) ||
  secretsIn(ssh, '').length + referencesIn(ssh).length > 0;

/** A reference that stays is a secret that stays: to send it again proves nothing. */
const isStored = (before: unknown, after: unknown): boolean =>
  isSealed(after) || (isReference(after) && isReference(before) && after.ref === before.ref);

type Targets = Pick<SnapshotContent, 'server' | 'connections' | 'toolsets' | 'tools' | 'resources'>;

/**
 * Throws if a token activates a snapshot that has other settings or toolsets than the served one, definitions with weaker
 * protection, or a connection that became writable or moved to another address.
 */
export async function refuseActivation(context: Context, before: Targets, after: Targets): Promise<void> {
  const { actor } = context;
  if (isAdministrator(actor)) return;
  refuseServer(before.server, after.server);
  if (canonical(before.toolsets) !== canonical(after.toolsets)) {
    const detail = 'This version has other toolsets, which decide who sees what. Only a signed-in administrator can restore it.';
    throw new AppError('admin_only', detail);
  }
  await refuseLooserTools(context, before.tools, after.tools);
  const resources = await knownOf<Masked>(context, 'resource', before.resources, after.resources);
  for (const resource of after.resources) refuseUnmasked(resources.get(resource.id) ?? null, resource);
  const connections = await knownOf<ConnectionTarget & SessionRules>(
    context,
    'connection',
    before.connections,
    after.connections,
  );
  for (const connection of after.connections) {
    const known = connections.get(connection.id);
    if (known === undefined) continue;
    refuseWritable(known, connection);
    refuseOtherCallers(known, connection);
    const moved = movedFields(known, connection);
    if (moved.length === 0 || !hasSecret(connection)) continue;
    const message = `The connection ${connection.name} of this version has another ${moved.join(', ')} and a stored secret. Only a signed-in administrator can restore it.`;
    throw new AppError('secret_required', message, { errors: moved.map((field) => ({ field, message })) });
  }
}

interface KnownTool extends WriteGuardFields, Masked {
  readonly id: string;
  readonly name: string;
  readonly log_arguments?: unknown;
}

async function refuseLooserTools(context: Context, before: readonly FrozenTool[], after: readonly FrozenTool[]): Promise<void> {
  const { actor, app } = context;
  const tools = await knownOf<KnownTool>(context, 'tool', before, after);
  // Another tool may have had the name since then.
  const served = new Map(before.map(({ id, name }) => [id, name]));
  const unserved = after.filter(({ id, name }) => served.get(id) !== name);
  const named = await lastStates(
    app.store,
    'tool',
    'entity_name',
    unserved.map(({ name }) => name),
  );
  for (const tool of unserved) {
    const last = named.get(tool.name);
    if (last !== undefined) refuseLoosened(actor, last, tool);
  }
  for (const tool of after) {
    const known = tools.get(tool.id) ?? null;
    if (known !== null) refuseLoosened(actor, known, tool);
    if (Boolean(tool.log_arguments) && !known?.log_arguments) refuseNamed(['log_arguments']);
    refuseUnmasked(known, tool);
  }
}

/** Throws if a masked column becomes visible, or visible to more groups. */
function refuseUnmasked(before: Masked | null, after: Masked): void {
  if (isUnmasked(before, after)) refuseNamed(['masks']);
}

/**
 * The served state of the records, or else the stored state, or else the last state in history. So disabling or deleting a record
 * first is no way around a check.
 */
async function knownOf<T>(
  { app: { store } }: Context,
  kind: 'tool' | 'resource' | 'connection',
  served: readonly (T & { readonly id: string })[],
  records: readonly { readonly id: string }[],
): Promise<ReadonlyMap<string, T>> {
  const known = new Map<string, T>(served.map((one) => [one.id, one]));
  const missing = () => records.flatMap(({ id }) => (known.has(id) ? [] : [id]));
  if (missing().length === 0) return known;
  const table = entityTable(store, kind);
  const rows = await store.db.select().from(table).where(inArray(table.id, missing()));
  for (const row of rows) known.set(row.id, row as T);
  for (const [id, state] of await lastStates(store, kind, 'entity_id', missing())) known.set(id, state as T);
  return known;
}

/**
 * The last state of a deleted record. Checks against it neither let a deletion bypass a limit nor refuse what was allowed before.
 */
export const lastState = async <K extends EntityKind>({ store }: Platform, kind: K, id: string): Promise<RowOf<K> | null> =>
  ((await lastStates(store, kind, 'entity_id', [id])).get(id) ?? null) as RowOf<K> | null;

/** The last state of each record in history, or its state before deletion. @param by the column that `keys` refer to. */
async function lastStates(
  { db, tables: { history } }: Platform['store'],
  entity_type: EntityType,
  by: 'entity_id' | 'entity_name',
  keys: readonly string[],
): Promise<ReadonlyMap<string, Record<string, unknown>>> {
  if (keys.length === 0) return new Map();
  const newest = db
    .select({ id: max(history.id) })
    .from(history)
    .where(and(eq(history.entity_type, entity_type), inArray(history[by], [...keys]), ne(history.action, 'blocked')))
    .groupBy(history[by]);
  const entries = await db
    .select({ key: history[by], before: history.before, after: history.after })
    .from(history)
    .where(inArray(history.id, newest));
  return new Map(
    entries.flatMap(({ key, before, after }) => {
      const state = after ?? before;
      return state === null ? [] : [[key, state]];
    }),
  );
}
