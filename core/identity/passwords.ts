/** Parameters of the hash (Argon2id, RFC 9106): memory in KiB, and passes over it. A hash contains its parameters. */
export interface PasswordWork {
  readonly memory_kib: number;
  readonly passes: number;
}

/** Takes about 0.1 s, in another thread. */
export const STANDARD_WORK: PasswordWork = { memory_kib: 65_536, passes: 2 };

export const hashPassword = (password: string, work = STANDARD_WORK): Promise<string> =>
  Bun.password.hash(password, { algorithm: 'argon2id', memoryCost: work.memory_kib, timeCost: work.passes });

/** Takes the same time for an unknown account (`hash` null) as for a known one. */
export async function verifyPassword(password: string, hash: string | null): Promise<boolean> {
  const fits = await Bun.password.verify(password, hash ?? UNKNOWN);
  return hash !== null && fits;
}

/** The hash of a discarded random text, with the standard parameters. */
const UNKNOWN =
  '$argon2id$v=19$m=65536,t=2,p=1$kS+ftvINduyjy2vdXDrVqjoO1vxzkSHRZBGi3iU9x6I$EtqxHt86gXKiFn7U/n7pAdpRVeTZuVPYwFIx6Si2yTk';

export interface WithPasswordWork {
  readonly password_work?: PasswordWork;
}
