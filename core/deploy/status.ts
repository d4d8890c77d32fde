import type { Platform } from '#core/platform/platform.ts';
import { isDeploying, type WithDeployLock } from './deploy-locks.ts';
import type { WithHosts } from '#core/hosts/host-registry.ts';
import type { DeployStatus } from '#core/contract/deploy/deploy.ts';
import type { Deployment } from '#core/versions/deployment.ts';

/** The status is an error when no host was connected for longer than this. */
const ABSENT_MS = 10_000;

const NO_HOST =
  'No MCP host has been connected for more than 10 seconds, so clients cannot connect. Start the host and check its SVC_SERVER_URL and SVC_AGENT_SERVICE_TOKEN.';

/** @param refused why the deployed snapshot is not served; null when it is. */
export async function statusOf(
  app: Platform & WithDeployLock & WithHosts,
  state: Deployment,
  refused: string | null = null,
): Promise<DeployStatus> {
  if (await isDeploying(app)) return 'deploying';
  if (refused !== null) return 'error';
  if (state.desired === 'stopped') return state.last_error !== null && state.active_version === null ? 'error' : 'stopped';
  return app.hosts.absent_ms() > ABSENT_MS ? 'error' : 'running';
}

/** Why the status is an error, or why the last deploy was refused. */
export function lastErrorOf(app: Platform & WithHosts, state: Deployment, refused: string | null): string | null {
  const absent = state.desired === 'running' && app.hosts.absent_ms() > ABSENT_MS;
  return refused ?? (absent ? NO_HOST : state.last_error);
}
