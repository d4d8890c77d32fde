import type { Output } from '#core/contract/index.ts';

export type TestCode = NonNullable<Output<'connections.test'>['code']>;

/** What to do about each way in which a connection fails. */
export const ADVICE: Readonly<Record<TestCode, string>> = {
  dns_failed: 'The host name does not resolve. Check its spelling and that this machine’s DNS knows it.',
  refused: 'Nothing listens at that host and port. Check the port and that the database accepts network connections.',
  timeout: 'No answer in time. A firewall or security group often swallows the packets: allow the address of this server.',
  auth_failed: 'The username or password is wrong, or this user may not connect from this address.',
  database_missing: 'The database server answers, but has no database of that name.',
  tls_failed: 'TLS could not be agreed on. Set ssl_mode to what the server offers, or give its certificate authority in ssl_ca.',
  private_network_blocked: 'The address is private. When that is intended, start Sluice with SVC_ALLOW_PRIVATE_NETWORKS=true.',
  failed: 'The database refused for a reason of its own, given above.',
};

type Parameter = Output<'tools.list'>['items'][number]['parameters'][number];

/** The parameters as a model sees them: `city: string, limit?: integer`. */
export const signature = (parameters: readonly Parameter[]): string =>
  parameters
    .map(({ name, type, required, items }) => `${name}${required ? '' : '?'}: ${type === 'array' ? `${items ?? 'any'}[]` : type}`)
    .join(', ');
