import { AppError, invalidField } from '#core/errors.ts';
import type { ConnectionDetails } from './descriptor.ts';
import { type HostAddress, hostsOf } from './hosts/host-list.ts';
import { isHost } from './network.ts';
import type { DialPolicy } from './source.ts';

/** Checks that the address of a database is allowed. A name that does not resolve yet passes, because every dial checks again. */
export async function checkHost({ host, port, database }: ConnectionDetails, policy: DialPolicy): Promise<void> {
  if (host === null) return;
  for (const one of hostsOf({ host, port })) await checkOne(one, database, policy);
}

async function checkOne({ host, port }: HostAddress, database: string, policy: DialPolicy): Promise<void> {
  const { resolveTarget } = await import('./dial.ts');
  try {
    await resolveTarget(host, port ?? 0, policy, database);
  } catch (error) {
    if (error instanceof AppError && error.code === 'private_network_blocked')
      throw invalidField('host', error.detail, error.code);
    if (!(error instanceof AppError) || error.code !== 'database_unreachable') throw error;
    if (!isHost(host)) throw invalidField('host', error.detail);
  }
}
