import type { ConnectionDraft } from '#core/contract/definitions/connections.ts';
import {
  type HopOf,
  hopsOf,
  type SealedSsh,
  type ShownSsh,
  type Ssh,
  SSH_SECRETS,
  type SshHop,
  type SshOf,
  type SshSecret,
} from '#core/contract/definitions/connection-fields.ts';
import { storedHop } from '#core/context/ssh-secrets.ts';
import type { StoredSecret } from '#core/contract/fields.ts';
import { engineOf, noTunnel } from '#core/engines/index.ts';
import type { FieldError } from '#core/errors.ts';
import { isReference } from '#core/lib/sealed-values.ts';

/** SSH servers to store: as they are sent, or as they are stored. */
export type SshDraft = Ssh | SealedSsh;
type HopDraft = Omit<SshHop, SshSecret> & { readonly [K in SshSecret]?: string | StoredSecret | null | undefined };

/** Seals a secret at its path. @param stored_path of a sealed one that belonged to another server of the tunnel. */
type Seal = (secret: string | StoredSecret, path: string, stored_path?: string) => StoredSecret | null;

/** `ssh` of a kind of database that has no tunnels. */
export function sshFaults({ db_type, ssh }: Pick<ConnectionDraft, 'db_type'> & { readonly ssh: SshDraft | null }): FieldError[] {
  return ssh === null || engineOf(db_type).tunnels === true ? [] : [{ field: 'ssh', message: noTunnel(db_type) }];
}

/** Private keys that cannot be read with their passphrases. Stored ones and references were or will be checked elsewhere. */
export async function sshKeyFaults(ssh: SshDraft | null): Promise<FieldError[]> {
  if (ssh === null) return [];
  const sent = hopsOf<HopDraft>(ssh).filter(({ hop }) => typeof hop.private_key === 'string');
  if (sent.length === 0) return [];
  const { keyFault } = await import('#core/engines/shared/tunnel/key.ts');
  return sent.flatMap(({ hop: { private_key, passphrase }, field }) => {
    // A passphrase that is stored or a reference is not known here.
    if (typeof private_key !== 'string' || (passphrase ?? null) !== null) {
      if (typeof private_key !== 'string' || typeof passphrase !== 'string') return [];
    }
    const fault = keyFault(private_key, typeof passphrase === 'string' ? passphrase : null);
    return fault === null ? [] : [{ field: `${field}.${fault.field}`, message: fault.message }];
  });
}

/**
 * Seals the secrets of SSH servers. A secret that is absent is that of the stored server with the same address and user, or else
 * of the one at the same position.
 */
export function sealSsh(ssh: SshDraft | null, before: SealedSsh | null, seal: Seal): SealedSsh | null {
  if (ssh === null) return null;
  const stored = before === null ? [] : hopsOf<HopOf<StoredSecret>>(before);
  const sealed = (hop: HopDraft, field: string): HopOf<StoredSecret> => {
    const same = storedHop(hop, field, stored);
    const secret = (name: SshSecret): StoredSecret | null => {
      const path = `${field}.${name}`.replaceAll('.', '/');
      const sent = hop[name];
      if (sent === null) return null;
      if (sent !== undefined) return seal(sent, path);
      const stored_secret = same?.hop[name] ?? null;
      return stored_secret && seal(stored_secret, path, `${same?.field}.${name}`.replaceAll('.', '/'));
    };
    const { host, port, username, host_key } = hop;
    const secrets = Object.fromEntries(SSH_SECRETS.map((name) => [name, secret(name)])) as Record<SshSecret, StoredSecret | null>;
    return { host, port, username, host_key, ...secrets };
  };
  return { ...sealed(ssh, 'ssh'), jump: ssh.jump.map((hop, n) => sealed(hop, `ssh.jump.${n}`)) };
}

/** Stored SSH servers as a response shows them. */
export function showSsh(ssh: SealedSsh): ShownSsh {
  const shown = ({ host, port, username, host_key, private_key, passphrase, password }: HopOf<StoredSecret>) => ({
    host,
    port,
    username,
    host_key,
    ...(isReference(private_key) && { private_key }),
    ...(isReference(passphrase) && { passphrase }),
    ...(isReference(password) && { password }),
    private_key_set: private_key !== null,
    passphrase_set: passphrase !== null,
    password_set: password !== null,
  });
  return { ...shown(ssh), jump: ssh.jump.map(shown) };
}

/** SSH servers in the form of an export: without secrets, but with their references. */
export function exportSsh(ssh: SealedSsh): Ssh {
  const exported = ({ host, port, username, host_key, ...secrets }: HopOf<StoredSecret>): SshHop => ({
    host,
    port,
    username,
    host_key,
    ...Object.fromEntries(SSH_SECRETS.flatMap((name) => (isReference(secrets[name]) ? [[name, secrets[name]]] : []))),
  });
  return { ...exported(ssh), jump: ssh.jump.map(exported) };
}

/** Stored SSH servers without the references of secrets that another description of them leaves out, and so leaves unchanged. */
export function withoutUnsent(sent: Ssh, stored: Ssh | null): Ssh | null {
  if (stored === null) return null;
  const others = hopsOf<SshHop>(sent);
  const unsent = (hop: SshHop, field: string): SshHop => {
    const other = others.find((one) => one.field === field)?.hop;
    const left_out = SSH_SECRETS.filter((name) => other?.[name] === undefined);
    return Object.fromEntries(Object.entries(hop).filter(([name]) => !left_out.some((secret) => secret === name))) as SshHop;
  };
  const { jump, ...last } = stored;
  return { ...unsent(last, 'ssh'), jump: jump.map((hop, n) => unsent(hop, `ssh.jump.${n}`)) };
}

/** Names of fields of SSH servers that contain a secret in plain text. */
export const plainSshSecrets = (ssh: Ssh): string[] =>
  hopsOf<SshHop>(ssh).flatMap(({ hop, field }) =>
    SSH_SECRETS.filter((name) => (hop[name] ?? null) !== null && !isReference(hop[name])).map((name) => `${field}.${name}`),
  );

/** SSH servers that have neither a private key nor a password, with the field that is missing. */
export const missingSshSecrets = (ssh: SealedSsh): string[] =>
  hopsOf<HopOf<StoredSecret>>(ssh).flatMap(({ hop, field }) =>
    hop.private_key === null && hop.password === null ? [`${field}.private_key`] : [],
  );

/** SSH servers of a draft that is not stored, with secrets in plain text. */
export async function plainSsh(ssh: Ssh, plain: (secret: unknown) => Promise<unknown>): Promise<SshOf<string>> {
  const opened = async (hop: SshHop): Promise<HopOf<string>> => {
    const { host, port, username, host_key } = hop;
    const secrets = await Promise.all(SSH_SECRETS.map(async (name) => [name, (await plain(hop[name] ?? null)) as string | null]));
    return { host, port, username, host_key, ...(Object.fromEntries(secrets) as Record<SshSecret, string | null>) };
  };
  return { ...(await opened(ssh)), jump: await Promise.all(ssh.jump.map(opened)) };
}
