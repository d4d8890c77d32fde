import { asksNothing, isLoopback } from '#core/contract/config.ts';
import { AppError } from '#core/errors.ts';
import type { Snapshot } from '#snapshots/format.ts';
import { loadRegistry, type Registry } from '#mcp-host/swap/registry.ts';

interface Limits {
  readonly require_auth?: boolean;
  readonly network?: boolean;
}

/**
 * Loads a snapshot unless anyone who reaches the port could call what it serves and the installation requires authentication:
 * a copy on disk may be older than SVC_REQUIRE_AUTH.
 */
export async function loadAllowed(
  snapshot: Snapshot,
  now: number,
  { require_auth = false, network = true }: Limits,
): Promise<Registry> {
  const { server } = snapshot.content;
  if (require_auth && network && asksNothing(server) && !isLoopback(server.host)) {
    throw new AppError(
      'cannot_deploy',
      `The deployed snapshot asks for no credentials and listens on ${server.host}, but this installation requires authentication (SVC_REQUIRE_AUTH). Choose another auth_type, or the host 127.0.0.1, and deploy.`,
    );
  }
  return loadRegistry(snapshot, now);
}
