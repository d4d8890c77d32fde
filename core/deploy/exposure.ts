import type { Platform } from '#core/platform/platform.ts';
import type { WithSnapshots, StoredSnapshot } from '#core/versions/stored-snapshots.ts';
import { asksNothing, isLoopback } from '#core/contract/settings/config.ts';
import type { FrozenServer } from '#snapshots/format/format.ts';
import { readSettings } from '#core/settings/settings.ts';
import { activeSnapshot, readDeployment } from '#core/versions/deployment.ts';

/** A sentence that anyone who can reach a port can call the tools; null when callers need credentials. */
export async function exposureOf(app: Platform, server: FrozenServer): Promise<string | null> {
  if (!asksNothing(server)) return null;
  const consequence = 'requires no credentials (auth_type none): anyone who can reach the port can call the tools.';
  if (!isLoopback(server.host)) return `The MCP server listens on ${server.host} and ${consequence}`;
  const { SVC_BIND } = app.env;
  if (isLoopback(SVC_BIND) || !(await readSettings(app)).settings.mcp_proxy) return null;
  return `This server listens on ${SVC_BIND} and forwards calls (mcp_proxy) to the MCP server, which ${consequence}`;
}

/** Advice when an installation requires authentication. */
export const REQUIRED_AUTH =
  'This installation requires authentication (SVC_REQUIRE_AUTH, which is on in production unless SVC_ALLOW_OPEN is true). Choose another auth_type, or the host 127.0.0.1 without mcp_proxy.';

/** The snapshot that hosts should serve, or null. `refused` says why a deployed snapshot is not served. */
export async function snapshotToServe(
  app: Platform & WithSnapshots,
): Promise<{ snapshot: StoredSnapshot | null; refused: string | null }> {
  const state = await readDeployment(app);
  const snapshot = state.desired === 'running' ? await activeSnapshot(app, state) : null;
  // It may have been deployed before authentication was required.
  const exposed = snapshot === null || !app.env.SVC_REQUIRE_AUTH ? null : await exposureOf(app, snapshot.server);
  return exposed === null ? { snapshot, refused: null } : { snapshot: null, refused: `${exposed} ${REQUIRED_AUTH} Then deploy.` };
}
