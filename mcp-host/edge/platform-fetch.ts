import type { Network } from '#core/engines/shared/network.ts';
import { AppError } from '#core/errors.ts';

/** The fetch of a platform, which resolves names and verifies certificates by itself. */
export const platformFetch: Network['fetch'] = async (url, init) => {
  try {
    // A redirect would take the token of a database along.
    return await fetch(url, { ...init, redirect: 'manual' });
  } catch (cause) {
    if (init.signal?.aborted === true) throw cause;
    throw new AppError('database_unreachable', `The connection to ${url.host} failed; check the host and the port.`, {
      reason: 'failed',
      cause,
    });
  }
};
