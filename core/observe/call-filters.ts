import type { Input } from '#core/contract/index.ts';
import type { Platform } from '#core/platform/platform.ts';
import { and, type Column, eq, gte, isNull, lt, or, type SQL, sql, inArray, isNotNull, notInArray } from 'drizzle-orm';
import { isAlso, rarest } from '#core/store/rarest.ts';
import type { Store } from '#core/store/store.ts';
import { OUTCOME_CODES, type CallOutcome } from '#core/contract/observe/outcomes.ts';

const OTHER_CODES = Object.values(OUTCOME_CODES).flat();

/** Matches clients by name: `claude` matches every version, `claude/1.0` only that one, '' matches clients without a name. */
export function isClient({ dialect }: Pick<Store, 'dialect'>, column: Column, name: string): SQL | undefined {
  if (name === '') return isNull(column);
  const start = `${name}/`;
  const length = Array.from(start).length;
  // Only SQLite always compares bytes, whatever the locale. '0' follows '/'.
  const begins =
    dialect === 'sqlite' ? and(gte(column, start), lt(column, `${name}0`)) : sql`substr(${column}, 1, ${length}) = ${start}`;
  // The rest must be a version, which contains no slash.
  return or(eq(column, name), and(begins, sql`substr(${column}, ${length + 1}) not like '%/%'`));
}

/** The name of a client without its version. The text is `name/version`, and the name may contain slashes. */
export function clientName(client: string | null): string | null {
  if (client === null) return null;
  const slash = client.lastIndexOf('/');
  return slash < 1 ? client : client.slice(0, slash);
}

/** Calls with this outcome. The condition on errors matches that of the partial indexes of failed calls. */
export function endedAs({ store }: Pick<Platform, 'store'>, outcome: CallOutcome): SQL | undefined {
  const { error } = store.tables.request_logs;
  if (outcome === 'ok') return isNull(error);
  if (outcome === 'tool_error') return and(isNotNull(error), notInArray(error, OTHER_CODES));
  return and(isNotNull(error), inArray(error, [...OUTCOME_CODES[outcome]]));
}

type Filter = Omit<Input<'logs.list'>, 'skip' | 'limit' | 'client'>;

/** Calls with these properties, from the index that leaves the fewest calls to read. */
export async function callsMatching({ store }: Pick<Platform, 'store'>, filter: Filter): Promise<SQL | undefined> {
  const { kind, name, connection_id, canary, success, outcome, since, until } = filter;
  const { request_logs } = store.tables;
  const leading = leadingFilter(filter) ?? (await rarerOf(store, filter));
  const equal = (field: 'kind' | 'name' | 'connection_id' | 'canary', value: string | undefined): SQL | undefined => {
    if (value === undefined) return undefined;
    if (leading !== undefined && field !== leading) return isAlso(store, request_logs[field], value);
    return eq(request_logs[field], value);
  };
  return and(
    equal('canary', canary),
    equal('kind', kind),
    // The same expression as in the partial index.
    kind === undefined || kind === 'tool' ? undefined : sql`kind <> 'tool'`,
    equal('name', name),
    equal('connection_id', connection_id),
    success === undefined ? undefined : success ? isNull(request_logs.error) : isNotNull(request_logs.error),
    outcome === undefined ? undefined : endedAs({ store }, outcome),
    since === undefined ? undefined : gte(request_logs.timestamp, since),
    until === undefined ? undefined : lt(request_logs.timestamp, until),
  );
}

/** The filter whose index has the fewest calls, if one has few in any case. */
function leadingFilter({ kind, canary, success, outcome }: Filter): 'canary' | 'kind' | 'error' | undefined {
  if (canary !== undefined) return 'canary';
  if (kind !== undefined && kind !== 'tool') return 'kind';
  return success === false || (outcome !== undefined && outcome !== 'ok') ? 'error' : undefined;
}

/** A definition may have most of the calls of its connection, or a connection have none. */
function rarerOf(store: Store, { name, connection_id }: Filter): Promise<'name' | 'connection_id' | undefined> {
  const { request_logs } = store.tables;
  const conditions = new Map<'name' | 'connection_id', SQL>();
  if (name !== undefined) conditions.set('name', eq(request_logs.name, name));
  if (connection_id !== undefined) conditions.set('connection_id', eq(request_logs.connection_id, connection_id));
  return rarest(store, request_logs, conditions);
}
