import type { Output } from '#core/contract/index.ts';

type TestCode = NonNullable<Output<'connections.test'>['code']>;

export const UNSAVED = 'Changes to this connection are not saved.';

/** What to do about each way in which a connection fails. */
export const ADVICE: Readonly<Record<TestCode, string>> = {
  dns_failed: 'The host name doesn’t resolve. Check the spelling and the DNS of this server.',
  refused: 'Nothing listens at that host and port. Check the port and that the database accepts network connections.',
  timeout: 'The database didn’t answer in time. Check that firewalls and security groups allow this server.',
  auth_failed: 'The username or password is wrong, or this user cannot connect from this address.',
  database_missing: 'The server has no database with this name.',
  tls_failed: 'The TLS handshake failed. Change the TLS mode, or add the certificate authority.',
  private_network_blocked: 'The address is private. To allow it, start Sluice with SVC_ALLOW_PRIVATE_NETWORKS=true.',
  failed: 'The database rejected the connection.',
};

/** Failures of which the driver says more than the advice does. */
export const IN_OTHER_WORDS: ReadonlySet<TestCode> = new Set(['tls_failed', 'failed']);

/** The field that is most likely wrong, to go to. */
export const SUSPECT: Partial<Record<TestCode, string>> = {
  dns_failed: 'host',
  refused: 'port',
  timeout: 'host',
  auth_failed: 'password',
  database_missing: 'database',
  tls_failed: 'ssl_mode',
  private_network_blocked: 'host',
};
