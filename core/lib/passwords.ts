/** Argon2id with Bun's defaults (RFC 9106); takes about 0.1 s off the main thread. */
export const hashPassword = (password: string): Promise<string> => Bun.password.hash(password, 'argon2id');

/** Takes as long for an unknown account (`hash` null) as for a known one. */
export async function verifyPassword(password: string, hash: string | null): Promise<boolean> {
  const fits = await Bun.password.verify(password, hash ?? UNKNOWN);
  return hash !== null && fits;
}

/** The hash of a random text that nobody knows. */
const UNKNOWN = await hashPassword(crypto.randomUUID());
