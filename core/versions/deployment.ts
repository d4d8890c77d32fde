import type { Platform } from '#core/platform/platform.ts';
import { eq, getTableColumns, sql } from 'drizzle-orm';
import type { Db } from '#core/store/store.ts';
import { type WithSnapshots, readSnapshot, type StoredSnapshot } from './stored-snapshots.ts';
import type { Schema } from '#core/store/schema.ts';

export type CanaryRow = Schema['canaries']['$inferSelect'];

export interface Deployment {
  readonly desired: 'running' | 'stopped';
  readonly active_version: number | null;
  readonly last_error: string | null;
  readonly deployed_at: string | null;
}

const NEVER: Deployment = { desired: 'stopped', active_version: null, last_error: null, deployed_at: null };

export async function readDeployment(app: Platform, tx: Db = app.store.db): Promise<Deployment> {
  const { deployment } = app.store.tables;
  const rows = await tx.select().from(deployment).where(eq(deployment.id, 1));
  return rows[0] ?? NEVER;
}

/** Compared with what hosts were sent last. */
export const stateOf = ({ desired, active_version }: Pick<Deployment, 'desired' | 'active_version'>): string =>
  `${desired}:${active_version}`;

/** What a deploy has to know before it changes what is served. */
export interface SwitchState extends Deployment {
  /** Number of the newest version, or 0. */
  readonly newest_version: number;
  /** The version beside which the running canary began. Null when none runs. */
  readonly canary_base: number | null;
}

/** The state of the deployment, in one statement. */
export async function readSwitchState(app: Platform, tx: Db = app.store.db): Promise<SwitchState> {
  const { deployment, snapshots, canaries } = app.store.tables;
  const newest = sql<number | string | null>`(select max(${snapshots.version}) from ${snapshots})`;
  const base = sql<
    number | string | null
  >`(select ${canaries.base_version} from ${canaries} where ${canaries.status} = 'running')`;
  const [row] = await tx
    .select({ ...getTableColumns(deployment), newest, base })
    .from(deployment)
    .where(eq(deployment.id, 1));
  if (row === undefined) return { ...NEVER, newest_version: 0, canary_base: null };
  const { newest: newest_version, base: canary_base, ...state } = row;
  return {
    ...state,
    newest_version: Number(newest_version ?? 0),
    canary_base: canary_base === null ? null : Number(canary_base),
  };
}

/** Whether anything was ever deployed. */
export const wasDeployed = async (app: Platform): Promise<boolean> => (await readDeployment(app)).active_version !== null;

export async function writeDeployment(app: Platform, tx: Db, change: Partial<Deployment>): Promise<void> {
  const { deployment } = app.store.tables;
  await tx
    .insert(deployment)
    .values({ id: 1, ...NEVER, ...change })
    .onConflictDoUpdate({ target: deployment.id, set: change });
}

/** The deployed snapshot, or null when nothing was ever deployed. @param state if it was read already. */
export async function activeSnapshot(
  app: Platform & WithSnapshots,
  state?: Pick<Deployment, 'active_version'>,
): Promise<StoredSnapshot | null> {
  const { active_version } = state ?? (await readDeployment(app));
  return active_version === null ? null : readSnapshot(app, active_version);
}

export async function runningCanary(app: Platform, tx: Db = app.store.db): Promise<CanaryRow | null> {
  const { canaries } = app.store.tables;
  const [row] = await tx.select().from(canaries).where(eq(canaries.status, 'running'));
  return row ?? null;
}

export async function readCanary(app: Platform, id: string): Promise<CanaryRow | undefined> {
  const { canaries } = app.store.tables;
  const [row] = await app.store.db.select().from(canaries).where(eq(canaries.id, id));
  return row;
}
