import { eq } from 'drizzle-orm';
import type { App } from '#core/platform/platform.ts';
import type { DeployStatus } from '#core/contract/deploy/deploy.ts';
import type { Db } from '#core/store/store.ts';
import { readSnapshot, type StoredSnapshot } from './stored-snapshots.ts';

/** Hosts gone for longer than this are an error (contract section 9). */
const ABSENT_MS = 10_000;

export interface Deployment {
  readonly desired: 'running' | 'stopped';
  readonly active_version: number | null;
  readonly last_error: string | null;
  readonly deployed_at: string | null;
}

const NEVER: Deployment = { desired: 'stopped', active_version: null, last_error: null, deployed_at: null };

export async function readDeployment(app: App, tx: Db = app.store.db): Promise<Deployment> {
  const { deployment } = app.store.tables;
  const rows = await tx.select().from(deployment).where(eq(deployment.id, 1));
  return rows[0] ?? NEVER;
}

/** Whether anything was ever deployed here. */
export const wasDeployed = async (app: App): Promise<boolean> => (await readDeployment(app)).active_version !== null;

export async function writeDeployment(app: App, tx: Db, change: Partial<Deployment>): Promise<void> {
  const { deployment } = app.store.tables;
  await tx
    .insert(deployment)
    .values({ id: 1, ...NEVER, ...change })
    .onConflictDoUpdate({ target: deployment.id, set: change });
}

/** @param refused why the deployed snapshot is not served, if it is not. */
export async function statusOf(app: App, state: Deployment, refused: string | null = null): Promise<DeployStatus> {
  if (app.deploy_lock.busy() || (await app.store.isTaken())) return 'deploying';
  if (refused !== null) return 'error';
  if (state.desired === 'stopped') return state.last_error !== null && state.active_version === null ? 'error' : 'stopped';
  return app.hosts.absent_ms() > ABSENT_MS ? 'error' : 'running';
}

const NO_HOST =
  'No MCP host has been connected for more than 10 seconds, so clients cannot connect. Start the host and check its SVC_SERVER_URL and SVC_AGENT_SERVICE_TOKEN.';

/** Why the status is an error, or what the last deploy was refused for. */
export function lastErrorOf(app: App, state: Deployment, refused: string | null): string | null {
  const absent = state.desired === 'running' && app.hosts.absent_ms() > ABSENT_MS;
  return refused ?? (absent ? NO_HOST : state.last_error);
}

/** The snapshot that runs; null when none was ever deployed. */
export async function activeSnapshot(app: App): Promise<StoredSnapshot | null> {
  const { active_version } = await readDeployment(app);
  return active_version === null ? null : readSnapshot(app, active_version);
}
