import { and, desc, eq, ne } from 'drizzle-orm';
import * as v from 'valibot';
import type { App } from '#core/app.ts';
import { TOKEN_SETTINGS } from '#core/contract/settings/config.ts';
import { ConnectionDraft, MASK, type SslMode } from '#core/contract/definitions/connections.ts';
import { type Given, loosened } from '#core/contract/definitions/write-guard.ts';
import { marked, openNames } from '#core/contract/marks.ts';
import { AppError } from '#core/errors.ts';
import type { Actor, Context } from '#core/run.ts';
import { canonical, checksum } from '#snapshots/canonical.ts';
import type { FrozenConnection, FrozenServer, SnapshotContent } from '#snapshots/format.ts';
import { isAdministrator } from './roles.ts';
import { differs } from '#core/definitions/settings/rules.ts';
import type { Settings } from '#core/definitions/settings/settings.ts';
import { type ConnectionRow, isSealed } from '#core/definitions/source-pool.ts';

/** What a token and an editor may never do, by whichever way a change comes (contract sections 2 and 14). */

/** Refuses a token's change of any setting but those that are open to tokens; the sentence names the fields. */
export function refuseSettings(actor: Actor | null, before: Settings, after: Settings): void {
  if (isAdministrator(actor)) return;
  const fields = Object.keys(after) as (keyof Settings)[];
  refuseClosed(fields.filter((field) => differs(field, before, after)));
}

/** The same for a snapshot that is activated; a secret that was only sealed again is the same. */
function refuseServer(before: FrozenServer, after: FrozenServer): void {
  // Another release may have frozen other fields.
  const fields = [...new Set([...Object.keys(before), ...Object.keys(after)])] as (keyof FrozenServer)[];
  const comparable = (value: unknown) => checksum(canonical(value ?? null));
  refuseClosed(fields.filter((field) => comparable(before[field]) !== comparable(after[field])));
}

/** Refuses a token's change of any field of a noun but those that are open to tokens. What it does not give has its default. */
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

/** Refuses a token's, and an editor's, change that lets a stored tool change more rows, or change them with fewer questions. */
export function refuseLoosened(actor: Actor | null, before: Given | null, after: Given): void {
  if (isAdministrator(actor)) return;
  refuseNamed(before === null ? (after.two_step === true ? ['two_step'] : []) : loosened(before, after));
}

/** The tool that last had a name, as it was then: neither deleting nor renaming it first must be a way round. */
export async function lastNamed({ app: { store }, actor }: Context, name: string): Promise<Given | null> {
  if (isAdministrator(actor)) return null;
  const { history } = store.tables;
  const [entry] = await store.db
    .select({ before: history.before, after: history.after })
    .from(history)
    .where(and(eq(history.entity_type, 'tool'), eq(history.entity_name, name), ne(history.action, 'blocked')))
    .orderBy(desc(history.id))
    .limit(1);
  return entry?.after ?? entry?.before ?? null;
}

const ADDRESS = marked(ConnectionDraft.entries, ({ address }) => address === true).map(([name]) => name as keyof Target);
/** How sure the client is of whom it talks to; null takes TLS where it can. */
const TRUST: readonly (SslMode | null)[] = ['disable', null, 'require', 'verify-ca', 'verify-full'];

/** What decides whether rows can be written, and who gets the secrets of a connection. */
type Target = Pick<
  ConnectionRow,
  'db_type' | 'host' | 'port' | 'database' | 'username' | 'ssl_ca' | 'ssl_mode' | 'read_only' | 'extra_params'
> & {
  readonly password: unknown;
  readonly ssl_key: unknown;
};

/** Refuses a token that makes a read-only connection writable, or sends a kept secret to another address: it has to know the secret. */
export function refuseConnection(actor: Actor | null, before: Target | null, after: Target): void {
  if (isAdministrator(actor) || before === null) return;
  refuseWritable(before, after);
  const moved = movedFields(before, after);
  const kept = moved.length === 0 ? [] : keptSecrets(before, after);
  if (kept.length === 0) return;
  const message = `${moved.join(', ')} changes where a stored secret is sent: send ${kept.join(', ')} again with the change.`;
  throw new AppError('secret_required', message, { errors: kept.map((field) => ({ field, message })) });
}

function refuseWritable(before: Target, after: Target): void {
  if (!before.read_only || after.read_only) return;
  const message = 'read_only can be turned off only by a signed-in administrator.';
  throw new AppError('admin_only', message, { errors: [{ field: 'read_only', message }] });
}

/** What the database is told of callers decides who reads which rows. A snapshot leaves out what is not set. */
function refuseOtherCallers(before: Told, { session_values = [], session_role = null }: Told): void {
  const fields = [
    ...(canonical(before.session_values ?? []) === canonical(session_values) ? [] : ['session_values']),
    ...(canonical(before.session_role ?? null) === canonical(session_role) ? [] : ['session_role']),
  ];
  refuseNamed(fields);
}

type Told = Pick<FrozenConnection, 'session_values' | 'session_role'>;

function movedFields(before: Target, after: Target): string[] {
  const moved: string[] = ADDRESS.filter((field) => after[field] !== before[field]);
  return TRUST.indexOf(after.ssl_mode) < TRUST.indexOf(before.ssl_mode) ? [...moved, 'ssl_mode'] : moved;
}

const keptSecrets = (before: Target, after: Target): string[] => [
  ...(isSealed(after.password) ? ['password'] : []),
  ...(isSealed(after.ssl_key) ? ['ssl_key'] : []),
  ...Object.entries(after.extra_params)
    .filter(([key, value]) => isSealed(value) || (value === MASK && isSealed(before.extra_params[key])))
    .map(([key]) => `extra_params.${key}`),
];

type Targets = Pick<SnapshotContent, 'server' | 'connections' | 'toolsets' | 'tools'>;

/** Refuses a token that activates a snapshot with other settings than those served now, or with a weaker or moved connection. */
export async function refuseActivation({ app, actor }: Context, before: Targets, after: Targets): Promise<void> {
  if (isAdministrator(actor)) return;
  refuseServer(before.server, after.server);
  if (canonical(before.toolsets) !== canonical(after.toolsets)) {
    const detail = 'This snapshot has other toolsets, which say who sees what: only a signed-in administrator can activate it.';
    throw new AppError('admin_only', detail);
  }
  const served_tools = new Map(before.tools.map((tool) => [tool.id, tool]));
  for (const tool of after.tools) {
    const known = served_tools.get(tool.id);
    if (known !== undefined) refuseLoosened(actor, known, tool);
  }
  for (const connection of after.connections) {
    const served: FrozenConnection | undefined = before.connections.find(({ id }) => id === connection.id);
    // One that is not served now counts as it is stored, or as it was when it went.
    const known = served ?? (await storedConnection(app, connection.id)) ?? (await lastState(app, connection.id));
    if (known === null) continue;
    refuseWritable(known, connection);
    refuseOtherCallers(known, connection);
    const moved = movedFields(known, connection);
    if (moved.length === 0 || keptSecrets(known, connection).length === 0) continue;
    const message = `The connection ${connection.name} of this snapshot has another ${moved.join(', ')} and a stored secret: only a signed-in administrator can activate it.`;
    throw new AppError('secret_required', message, { errors: moved.map((field) => ({ field, message })) });
  }
}

async function storedConnection({ store }: App, id: string): Promise<ConnectionRow | null> {
  const { connections } = store.tables;
  const [row] = await store.db.select().from(connections).where(eq(connections.id, id));
  return row ?? null;
}

/** A connection as it was when it went: deleting first must not be a way round. */
export async function lastState({ store }: App, id: string): Promise<ConnectionRow | null> {
  const { history } = store.tables;
  const [entry] = await store.db
    .select({ before: history.before, after: history.after })
    .from(history)
    .where(and(eq(history.entity_type, 'connection'), eq(history.entity_id, id), ne(history.action, 'blocked')))
    .orderBy(desc(history.id))
    .limit(1);
  return (entry?.after ?? entry?.before ?? null) as ConnectionRow | null;
}
