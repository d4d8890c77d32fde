import { hopsOf } from '#core/contract/definitions/connection-fields.ts';
import { AppError, invalidField } from '#core/errors.ts';
import type { ConnectionDetails, SshAddresses } from '../descriptor.ts';
import { resolveTarget } from '../dial.ts';
import { hostsOf } from '../hosts/host-list.ts';
import { isHost } from '../network.ts';
import type { DialPolicy } from '../source.ts';
import { farTarget } from './far-address.ts';

/** Checks the addresses of the SSH servers and of the database behind them. Names that do not resolve yet pass, as in `checkHost`. */
export async function checkTunnel(
  ssh: SshAddresses,
  { host, port, database }: ConnectionDetails,
  policy: DialPolicy,
): Promise<void> {
  let address: string | null = null;
  for (const [n, { hop, field }] of hopsOf<Pick<SshAddresses, 'host' | 'port'>>(ssh).entries()) {
    const dialled: Promise<{ readonly address: string | null }> =
      n === 0 ? resolveTarget(hop.host, hop.port, policy) : farTarget(hop.host, hop.port, address, policy);
    address = await dialled.then(
      (target) => target.address,
      (error: unknown) => refuse(error, `${field}.host`, hop.host),
    );
  }
  for (const far of host === null ? [] : hostsOf({ host, port }))
    await farTarget(far.host, far.port ?? 0, address, policy, database).catch((error: unknown) =>
      refuse(error, 'host', far.host),
    );
}

/** Returns null for a name that does not resolve yet. */
function refuse(error: unknown, field: string, host: string): null {
  if (!(error instanceof AppError)) throw error;
  if (error.code === 'private_network_blocked' || !isHost(host)) {
    throw invalidField(field, error.detail, error.code === 'private_network_blocked' ? error.code : 'invalid');
  }
  if (error.code !== 'database_unreachable') throw error;
  return null;
}
