import { asksNothing, isLoopback } from '#core/contract/settings/config.ts';
import { AppError } from '#core/errors.ts';
import type { FrozenServer } from '#snapshots/format/format.ts';

interface Limits {
  readonly require_auth?: boolean;
  readonly network?: boolean;
}

/**
 * Refuses a snapshot that anyone who reaches the port could call where the installation requires authentication: a copy on disk may
 * be older than SVC_REQUIRE_AUTH.
 */
export function requireAuth(server: FrozenServer, { require_auth = false, network = true }: Limits): void {
  if (!require_auth || !network || !asksNothing(server) || isLoopback(server.host)) return;
  throw new AppError(
    'cannot_deploy',
    `The deployed snapshot requires no credentials and listens on ${server.host}, but this installation requires authentication (SVC_REQUIRE_AUTH). Choose another auth_type, or the host 127.0.0.1, and deploy.`,
  );
}
