import * as v from 'valibot';
import { integerBetween, secretOrRef, ShownRef, type StoredSecret, textBetween } from '../fields.ts';
import { brief, field, marked } from '../marks.ts';

const Pem = textBetween(1, 65_536);
const pem = v.nullable(Pem);

/** Concurrency limits and timeouts of a connection. */
export const connectionLimits = {
  pool_size: field(integerBetween(1, 100), {
    label: 'Pool size',
    unit: 'sessions',
    help: 'Most sessions that one host opens.',
    open: true,
    default: 4,
  }),
  max_concurrency: field(v.nullable(integerBetween(1, 200)), {
    label: 'Concurrency',
    unit: 'calls',
    help: 'Most calls that run at once. Defaults to the pool size.',
    choices: { null: { label: 'Pool size' } },
    open: true,
    default: null,
  }),
  queue_limit: field(integerBetween(0, 10_000), {
    label: 'Queue limit',
    unit: 'calls',
    help: 'Most calls that wait for a slot. Further calls are rejected.',
    open: true,
    default: 100,
  }),
  queue_timeout_ms: field(integerBetween(1, 600_000), {
    label: 'Queue timeout',
    unit: 'ms',
    help: 'A call that waits longer for a slot is rejected.',
    open: true,
    default: 5_000,
  }),
  query_timeout_ms: field(integerBetween(1, 600_000), {
    label: 'Query timeout',
    unit: 'ms',
    help: 'A statement that runs longer is cancelled in the database.',
    open: true,
    default: 30_000,
  }),
  max_rows: field(integerBetween(1, 1_000_000), {
    label: 'Row limit',
    unit: 'rows',
    help: 'Most rows of one result, unless the tool has its own limit.',
    open: true,
    default: 1_000,
  }),
  max_bytes: field(integerBetween(1_024, 256 * 1024 * 1024), {
    label: 'Size limit',
    unit: 'bytes',
    help: 'Most bytes of one result.',
    open: true,
    default: 4 * 1024 * 1024,
  }),
};

/** TLS certificates. */
export const connectionCertificates = {
  ssl_ca: field(pem, {
    label: 'Certificate authority',
    help: 'PEM. Defaults to the authorities that the system trusts.',
    control: 'code',
    placeholder: '-----BEGIN CERTIFICATE-----',
    open: true,
    address: true,
    default: null,
  }),
  ssl_cert: field(pem, {
    label: 'Client certificate',
    help: 'PEM. Only for databases that require one.',
    control: 'code',
    placeholder: '-----BEGIN CERTIFICATE-----',
    open: true,
    default: null,
  }),
  ssl_key: field(v.nullable(secretOrRef(Pem)), {
    label: 'Client key',
    help: 'PEM.',
    control: 'code',
    placeholder: '-----BEGIN PRIVATE KEY-----',
    secret: true,
    open: true,
    default: null,
  }),
};

const MOST_JUMPS = 3;
export const DEFAULT_SSH_PORT = 22;

/** SHA-256 of a host key in base64, as `ssh-keygen -lf` and `ssh` show it. */
const HostKey = v.pipe(
  v.string(),
  v.regex(/^SHA256:[A-Za-z0-9+/]{43}$/, 'must be a fingerprint such as SHA256:… with 43 characters, as ssh-keygen -lf shows it'),
);

const secret = (max: number) => v.nullable(secretOrRef(textBetween(1, max)));

/** One SSH server. A secret that is absent leaves the stored one of the same server unchanged; null removes it. */
const hop = {
  host: field(textBetween(1, 255), { label: 'SSH host', control: 'mono', placeholder: 'bastion.example.com' }),
  port: v.optional(field(integerBetween(1, 65_535), { label: 'SSH port' }), DEFAULT_SSH_PORT),
  username: field(textBetween(1, 255), { label: 'SSH username', control: 'mono' }),
  private_key: v.optional(
    field(secret(65_536), {
      label: 'Private key',
      help: 'OpenSSH or PEM.',
      control: 'code',
      placeholder: '-----BEGIN OPENSSH PRIVATE KEY-----',
      secret: true,
    }),
  ),
  passphrase: v.optional(field(secret(4_096), { label: 'Passphrase', help: 'Only for an encrypted private key.', secret: true })),
  password: v.optional(field(secret(4_096), { label: 'SSH password', help: 'For a server that accepts no keys.', secret: true })),
  host_key: v.optional(
    v.nullable(
      field(HostKey, {
        label: 'Host key',
        help: 'The fingerprint of the server’s key. Leave empty and test the connection to see it; without it nothing connects.',
        control: 'mono',
        placeholder: 'SHA256:…',
      }),
    ),
    null,
  ),
};

export const SshHop = v.strictObject(hop);
export type SshHop = v.InferOutput<typeof SshHop>;

/** The SSH server that reaches the database, and those in front of it in the order in which they are passed. */
export const Ssh = v.strictObject({
  ...hop,
  jump: v.optional(v.pipe(v.array(SshHop), v.maxLength(MOST_JUMPS)), []),
});
export type Ssh = v.InferOutput<typeof Ssh>;

export const SSH_SECRETS = ['private_key', 'passphrase', 'password'] as const;
export type SshSecret = (typeof SSH_SECRETS)[number];

/** Labels of the fields of one SSH server. */
export const SSH_LABELS: Readonly<Record<string, string>> = Object.fromEntries(
  marked({ ...hop, host_key: hop.host_key.wrapped.wrapped }).map(([name, { label }]) => [name, label]),
);

const shownHop = {
  host: v.string(),
  port: v.number(),
  username: v.string(),
  host_key: v.nullable(v.string()),
  private_key: ShownRef,
  passphrase: ShownRef,
  password: ShownRef,
  private_key_set: v.boolean(),
  passphrase_set: v.boolean(),
  password_set: v.boolean(),
};
const ShownHop = v.object(shownHop);
/** As responses show it: without secrets, but with their references. */
export const ShownSsh = brief(v.object({ ...shownHop, jump: v.array(ShownHop) }));
export type ShownSsh = v.InferOutput<typeof ShownSsh>;

/** An SSH server with secrets of one kind: sealed, in plain text or as they are sent. */
export interface HopOf<Secret> {
  readonly host: string;
  readonly port: number;
  readonly username: string;
  readonly private_key: Secret | null;
  readonly passphrase: Secret | null;
  readonly password: Secret | null;
  readonly host_key: string | null;
}
export interface SshOf<Secret> extends HopOf<Secret> {
  readonly jump: readonly HopOf<Secret>[];
}
export type SealedSsh = SshOf<StoredSecret>;

/** Every SSH server in the order in which they are passed, with its field. */
export const hopsOf = <Hop>(ssh: Hop & { readonly jump: readonly Hop[] }): { readonly hop: Hop; readonly field: string }[] => [
  ...ssh.jump.map((hop, n) => ({ hop, field: `ssh.jump.${n}` })),
  { hop: ssh, field: 'ssh' },
];
