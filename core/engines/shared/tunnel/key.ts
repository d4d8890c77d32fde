import ssh2 from 'ssh2';

/** Why a private key cannot be used, with the field of its SSH server. Null: it can. */
export function keyFault(key: string, passphrase: string | null): { readonly field: string; readonly message: string } | null {
  const parsed = ssh2.utils.parseKey(key, passphrase ?? undefined);
  if (!(parsed instanceof Error)) return null;
  if (/no passphrase/i.test(parsed.message)) {
    return { field: 'passphrase', message: 'The private key is encrypted. Enter its passphrase.' };
  }
  if (passphrase !== null && /passphrase|integrity|decrypt/i.test(parsed.message)) {
    return { field: 'passphrase', message: 'The passphrase does not open the private key.' };
  }
  const message =
    'private_key must be a private key as ssh-keygen writes it, from -----BEGIN … PRIVATE KEY----- to -----END … PRIVATE KEY-----.';
  return { field: 'private_key', message };
}
