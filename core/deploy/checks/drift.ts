import type { WithSources } from '#core/sources/source-pool.ts';
import { type WithSnapshots, readSnapshot, textsOf } from '#core/versions/stored-snapshots.ts';
import type { Platform } from '#core/platform/platform.ts';
import type { WithVerifiedStatements } from '#core/deploy/checks/describe-again.ts';
import { sql } from 'drizzle-orm';
import { withLease } from '#core/platform/leases.ts';
import { runEvery } from '#core/platform/run-every.ts';
import { type Drift, DRIFT_WARNING, type Drifted } from '#core/contract/deploy/drift.ts';
import { readSettings } from '#core/settings/settings.ts';
import { createRests } from '#core/lib/slices.ts';
import { emitEvent } from '#core/records/events.ts';
import type { Handlers } from '#core/context/context.ts';
import { readMeta, writeMeta } from '#core/store/meta.ts';
import type { Db } from '#core/store/store.ts';
import { readDeployment } from '#core/versions/deployment.ts';
import { type VerifiedStatements, driftOf } from './describe-again.ts';

/** Key of the last result in `meta`. */
const STATE = 'drift';
const POLL_MS = 60_000;
/** Clocks of servers may differ by this. */
const MAX_SKEW_MS = 60_000;
/** Deploys within this time are checked together. */
const MIN_INTERVAL_MS = 10_000;

type State = Omit<Drift, 'total'>;
const NEVER: State = { checked_at: null, snapshot_version: null, items: [], unchecked: [] };

export const driftHandlers: Pick<Handlers<WithSources & WithSnapshots>, 'drift.list' | 'drift.check'> = {
  'drift.list': async ({ app }) => shown(await readDrift(app)),
  'drift.check': async ({ app }) => shown(await checkDrift(app)),
};

const shown = (state: State): Drift => ({ ...state, total: state.items.length });

/** The result of the last check. */
export async function readDrift({ store }: Platform): Promise<State> {
  const text = await readMeta(store, store.db, STATE);
  return text === null ? NEVER : (JSON.parse(text) as State);
}

/** Definitions in one notice, and names in one warning. */
const MAX_IN_NOTICE = 50;
const MAX_NAMES = 5;

/** A warning about served definitions that no longer match their database. */
export function driftWarnings({ items, snapshot_version }: State, version: number): string[] {
  if (snapshot_version !== version || items.length === 0) return [];
  const names = items.slice(0, MAX_NAMES).map(({ name }) => name);
  const more = items.length - names.length;
  const which = `${names.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
  return [`${DRIFT_WARNING}: ${which}. Check these definitions and deploy again.`];
}

/**
 * Describes every served statement again on its database. Definitions of unreachable databases keep their last result.
 * @param verified statements that need not be described again while their schema stays the same.
 */
async function checkDrift(app: WithSources & WithSnapshots, verified: VerifiedStatements = new Map()): Promise<State> {
  const { active_version } = await readDeployment(app);
  const active = active_version === null ? null : await readSnapshot(app, active_version);
  const checked_at = app.clock().toISOString();
  const { found, unchecked } =
    active === null
      ? { found: [], unchecked: [] }
      : await driftOf(app, active.tree.leaves, active.tree.leaves, (leaves) => textsOf(app, leaves), verified, createRests());
  const served = new Set(active?.tree.leaves.map(({ hash }) => hash));
  for (const hash of verified.keys()) if (!served.has(hash)) verified.delete(hash);
  const unchecked_ids = new Set(unchecked.map(({ connection_id }) => connection_id));
  const { state, fresh } = await app.store.write(async (tx) => {
    // Concurrent checks, on any server, wait for each other here, so that each compares with the stored result of the one before.
    const before = await lockDrift(app, tx);
    const known = new Map(before.items.map((item) => [item.id, item]));
    const items: Drifted[] = found.map((item) => ({ ...item, since: known.get(item.id)?.since ?? checked_at }));
    if (before.snapshot_version === active_version) {
      items.push(...before.items.filter(({ connection_id }) => unchecked_ids.has(connection_id)));
    }
    const now: State = { checked_at, snapshot_version: active_version, items, unchecked };
    const unknown = items.filter(({ id }) => !known.has(id));
    await writeDrift(app, tx, now, unknown);
    return { state: now, fresh: unknown };
  });
  for (const { kind, name, differences } of fresh) {
    app.log.from('deploy').warning(`the ${kind} ${name} no longer fits its database`, { differences });
  }
  return state;
}

/** Adds what a deploy found about served definitions, without waiting for the next check. */
export async function markDrift(app: Platform, active_version: number, found: readonly Omit<Drifted, 'since'>[]): Promise<void> {
  if (found.length === 0) return;
  const since = app.clock().toISOString();
  await app.store.write(async (tx) => {
    const last = await lockDrift(app, tx);
    const before = last.snapshot_version === active_version ? last : { ...NEVER, snapshot_version: active_version };
    const known = new Map(before.items.map((item) => [item.id, item]));
    const marked = found.map((item): Drifted => ({ ...item, since: known.get(item.id)?.since ?? since }));
    const ids = new Set(marked.map(({ id }) => id));
    const items = [...before.items.filter(({ id }) => !ids.has(id)), ...marked];
    await writeDrift(
      app,
      tx,
      { ...before, items },
      marked.filter(({ id }) => !known.has(id)),
    );
  });
}

/** Reads the result of the last check, and locks its row until the transaction ends. */
async function lockDrift({ store }: Platform, tx: Db): Promise<State> {
  const { meta } = store.tables;
  const [row] = await tx
    .insert(meta)
    .values({ key: STATE, value: JSON.stringify(NEVER) })
    .onConflictDoUpdate({ target: meta.key, set: { value: sql`${meta.value}` } })
    .returning({ value: meta.value });
  return row === undefined ? NEVER : (JSON.parse(row.value) as State);
}

/** @param fresh what was not known before, for a notice. */
async function writeDrift(app: Platform, tx: Db, state: State, fresh: readonly Drifted[]): Promise<void> {
  await writeMeta(app.store, tx, STATE, JSON.stringify(state));
  if (fresh.length === 0) return;
  const definitions = fresh
    .slice(0, MAX_IN_NOTICE)
    .map(({ kind, name, connection_name, differences }) => ({ kind, name, connection: connection_name, differences }));
  await emitEvent(app, 'drift', { version: state.snapshot_version, drifted: fresh.length, definitions }, tx);
}

/** Runs a check when it is due, on one server at a time. @returns whether this server ran it. */
export async function checkDriftWhenDue(app: WithSources & WithVerifiedStatements & WithSnapshots): Promise<boolean> {
  if ((await dueOf(app)) === null) return false;
  const checked = await withLease(app, 'drift', async (held) => {
    // Another server may have run it first.
    const due = await dueOf(app);
    if (due === null) return false;
    if (due === 'all') app.verified_statements = { since: app.clock().getTime(), schemas: new Map() };
    await checkDrift(held, app.verified_statements.schemas);
    return true;
  });
  return checked === true;
}

/** The scope of a check: all statements, or those that were not verified since the last full check; null when none is due. */
async function dueOf(app: Platform & WithVerifiedStatements): Promise<'all' | 'rest' | null> {
  const { drift_check_minutes: minutes } = (await readSettings(app)).settings;
  if (minutes === 0) return null;
  const [{ desired, active_version }, { checked_at, snapshot_version }] = await Promise.all([
    readDeployment(app),
    readDrift(app),
  ]);
  if (desired === 'stopped' || active_version === null) return null;
  const now = app.clock().getTime();
  const age = now - (checked_at === null ? Number.NEGATIVE_INFINITY : Date.parse(checked_at));
  const every = minutes * 60_000 - 1_000;
  // A check with a time in the future used a clock that was ahead.
  const is_time = age < -MAX_SKEW_MS || age >= every;
  if (!is_time && (snapshot_version === active_version || age < MIN_INTERVAL_MS)) return null;
  return Math.abs(now - app.verified_statements.since) < every ? 'rest' : 'all';
}

/** Checks after each deploy and every `drift_check_minutes`. @returns a function that stops it. */
export const startDriftChecks = (app: WithSources & WithVerifiedStatements & WithSnapshots): (() => void) =>
  runEvery(app, {
    every_ms: POLL_MS,
    what: 'checking deployed statements on their databases',
    work: async () => void (await checkDriftWhenDue(app)),
    wake: 'deployment',
  });
