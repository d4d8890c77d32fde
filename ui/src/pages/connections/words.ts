import type { Output } from '#core/contract/index.ts';
import { plural } from '#ui/src/kernel/words.ts';

export type TestCode = NonNullable<Output<'connections.test'>['code']>;

export const WORDS = {
  title: 'Connections',
  lead: 'The databases that tools, resources and prompts read from and write to.',
  add: 'Connect a database',
  search: 'Search connections',
  empty_title: 'No database is connected',
  empty: 'Connect one, and its tables can become tools. A user that may only read is the safest to begin with.',
  none_title: 'No connection fits these filters',
  sample: 'Use the sample database',
  new_title: 'Connect a database',
  new_lead: 'Nothing is sent to the database but what your tools ask; Test tries the connection without saving it.',
  address: 'Paste an address',
  address_hint: 'Such as postgres://user:password@host:5432/shop. It fills in the fields below and is not kept.',
  unsaved: 'The changes to this connection are not saved.',
  not_found: 'There is no such connection. It may have been deleted.',
  tested: (name: string, time: string) => `${name}: connected in ${time}.`,
  failed: (name: string) => `${name}: not connected.`,
  created: (name: string) => `Connected “${name}”.`,
  saved: (name: string) => `Saved “${name}”. It is live with the next deploy.`,
  deleted: (name: string) => `Deleted “${name}”.`,
  delete_title: (name: string) => `Delete the connection “${name}”?`,
  delete_text: 'What is deployed keeps running until the next deploy. History can bring everything back.',
  delete_many: (count: number) => `Delete ${plural(count, 'connection')}?`,
  tables_empty: 'This user sees no table or view in the database.',
  tables_none: 'No table is called like this.',
  pick_table: 'Choose a table to see its columns.',
  make_tool: 'Make a tool from this table',
} as const;

export const LABELS: Readonly<Record<string, string>> = {
  name: 'Name',
  db_type: 'Kind',
  host: 'Host',
  port: 'Port',
  database: 'Database',
  username: 'Username',
  password: 'Password',
  ssl_mode: 'TLS',
  ssl_ca: 'Certificate authority',
  ssl_cert: 'Client certificate',
  ssl_key: 'Client key',
  extra_params: 'Further settings',
  enabled: 'Enabled',
  read_only: 'Read-only',
  pool_size: 'Pool size',
  max_concurrency: 'Calls at the same time',
  queue_limit: 'Queue length',
  queue_timeout_ms: 'Longest wait in the queue',
  query_timeout_ms: 'Longest query',
  max_rows: 'Most rows',
  max_bytes: 'Most bytes',
};

/** What to do about each way in which a connection fails. */
export const ADVICE: Readonly<Record<TestCode, string>> = {
  dns_failed: 'The host name does not resolve. Check its spelling and that this machine’s DNS knows it.',
  refused: 'Nothing listens at that host and port. Check the port and that the database accepts network connections.',
  timeout: 'No answer in time. A firewall or security group often swallows the packets: allow the address of this server.',
  auth_failed: 'The username or password is wrong, or this user may not connect from this address.',
  database_missing: 'The database server answers, but has no database of that name.',
  tls_failed: 'TLS could not be agreed on. Set TLS to what the server offers, or give its certificate authority.',
  private_network_blocked: 'The address is private. When that is intended, start Sluice with SVC_ALLOW_PRIVATE_NETWORKS=true.',
  failed: 'The database refused for a reason of its own, given above.',
};

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

export const TLS = [
  { value: '', label: 'When the server offers it' },
  { value: 'disable', label: 'Never', hint: 'Passwords and rows travel unprotected.' },
  { value: 'require', label: 'Always, any certificate' },
  { value: 'verify-ca', label: 'Always, known authority' },
  { value: 'verify-full', label: 'Always, known authority and host name', hint: 'The safest' },
] as const;
