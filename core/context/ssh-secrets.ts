import { type HopOf, hopsOf, SSH_SECRETS, type SshSecret } from '#core/contract/definitions/connection-fields.ts';
import { isReference, isSealed } from '#core/lib/sealed-values.ts';
import { canonical, checksum } from '#snapshots/format/canonical.ts';

type Address = Pick<HopOf<unknown>, 'host' | 'port' | 'username' | 'host_key'>;

/** An SSH server as it is sent or stored. A secret that is absent stays as it is stored. */
export type AnyHop = Address & { readonly [K in SshSecret]?: unknown };
export type AnySsh = AnyHop & { readonly jump: readonly AnyHop[] };

/** The stored server whose secrets a sent one keeps: that with the same address and user, or else that at the same position. */
export const storedHop = <Hop extends AnyHop>(
  { host, port, username }: AnyHop,
  field: string,
  stored: readonly { readonly hop: Hop; readonly field: string }[],
): { readonly hop: Hop; readonly field: string } | undefined =>
  stored.find(({ hop }) => hop.host === host && hop.port === port && hop.username === username) ??
  stored.find((other) => other.field === field);

/** A text that changes when another server is reached, or when another key is accepted. */
export const sshAddress = (ssh: AnySsh | null | undefined): string =>
  ssh == null
    ? ''
    : canonical(hopsOf<AnyHop>(ssh).map(({ hop: { host, port, username, host_key } }) => [host, port, username, host_key]));

/** Fields of SSH servers whose secrets are not sent again. */
export function unsentSshSecrets(before: AnySsh | null | undefined, after: AnySsh | null | undefined): string[] {
  if (after == null) return [];
  const stored = before == null ? [] : hopsOf<AnyHop>(before);
  return hopsOf<AnyHop>(after).flatMap(({ hop, field }) => {
    const known = storedHop(hop, field, stored)?.hop;
    return SSH_SECRETS.filter((name) => {
      const [sent, known_secret] = [hop[name], known?.[name] ?? null];
      if (sent === undefined) return known_secret !== null;
      return isSealed(sent) || (isReference(sent) && isReference(known_secret) && sent.ref === known_secret.ref);
    }).map((name) => `${field}.${name}`);
  });
}

/** Whether a description of SSH servers differs from the stored one. A secret that was only encrypted again is the same. */
export function changesSsh(before: AnySsh | null | undefined, after: AnySsh | null | undefined): boolean {
  if (sshAddress(before) !== sshAddress(after)) return true;
  if (after == null) return false;
  const stored = before == null ? [] : hopsOf<AnyHop>(before);
  const text = (value: unknown): string => checksum(canonical(value ?? null));
  return hopsOf<AnyHop>(after).some(({ hop, field }) => {
    const known = storedHop(hop, field, stored)?.hop;
    return SSH_SECRETS.some((name) => hop[name] !== undefined && text(hop[name]) !== text(known?.[name]));
  });
}
