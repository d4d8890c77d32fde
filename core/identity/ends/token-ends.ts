import type { Platform } from '#core/platform/platform.ts';
import { NOTICE_DAYS, ROTATION_HOURS } from '#core/contract/identity/token-ends.ts';
import { invalidField } from '#core/errors.ts';
import { readSettings } from '#core/settings/settings.ts';

const DAY_MS = 24 * 3_600_000;
const ROTATION_MS = ROTATION_HOURS * 3_600_000;

/** The columns of a credential that say how long its secrets work. */
export interface TokenEnds {
  readonly expires_at: string | null;
  readonly rotation_ends_at: string | null;
}

interface NewEnd {
  readonly expires_at: string | null;
  readonly warned_days: number | null;
}

/** The columns of a credential that was never rotated. */
export const NOT_ROTATED = { previous_digest: null, rotation_ends_at: null };

/**
 * When a new secret ends. @param days as the request names it; undefined: the default; null: no end.
 * Throws `invalid` beyond the longest lifetime that the operator allows.
 */
export async function newEnd(app: Platform, days: number | null | undefined): Promise<NewEnd> {
  const most = app.env.SVC_TOKEN_MAX_DAYS;
  if (days === null && most > 0) throw beyond(most);
  if (days === null) return { expires_at: null, warned_days: null };
  if (days !== undefined && most > 0 && days > most) throw beyond(most);
  const lasts = days ?? (await defaultDays(app));
  return { expires_at: daysFrom(app, lasts), warned_days: noticed(lasts) };
}

const beyond = (most: number) =>
  invalidField(
    'expires_in_days',
    `expires_in_days must be from 1 to ${most}: this installation limits the lifetime of tokens (SVC_TOKEN_MAX_DAYS).`,
  );

/** The lifetime when none is chosen. */
export async function defaultDays(app: Platform): Promise<number> {
  const { token_default_days } = (await readSettings(app)).settings;
  const most = app.env.SVC_TOKEN_MAX_DAYS;
  return most === 0 ? token_default_days : Math.min(token_default_days, most);
}

export const daysFrom = (app: Platform, days: number): string => new Date(app.clock().getTime() + days * DAY_MS).toISOString();

/** A lifetime of seven days gets no notice that it ends within seven days. */
const noticed = (days: number): number | null => NOTICE_DAYS.filter((before) => days <= before).at(-1) ?? null;

export const hasEnded = ({ expires_at }: Pick<TokenEnds, 'expires_at'>, now: Date): boolean =>
  expires_at !== null && Date.parse(expires_at) <= now.getTime();

/** Until when the secret before a rotation works; null: it has ended already. */
export function rotationEnd(app: Platform, row: Pick<TokenEnds, 'expires_at'>): string | null {
  const now = app.clock();
  if (hasEnded(row, now)) return null;
  const ends = now.getTime() + ROTATION_MS;
  return new Date(row.expires_at === null ? ends : Math.min(ends, Date.parse(row.expires_at))).toISOString();
}

interface SecretDigests extends TokenEnds {
  readonly previous_digest: string | null;
}

/** Which secret of a rotated credential a digest belongs to, and whether that one has ended; null: to none. */
export function secretOf(
  row: SecretDigests,
  current: string | null,
  digest: string,
  now: Date,
): { readonly ended_at: string | null } | null {
  if (digest === current) return { ended_at: hasEnded(row, now) ? row.expires_at : null };
  if (row.previous_digest === null || digest !== row.previous_digest || row.rotation_ends_at === null) return null;
  return { ended_at: Date.parse(row.rotation_ends_at) <= now.getTime() ? row.rotation_ends_at : null };
}

/** The sentence about a credential that is refused because it has ended. @param what such as `The client secret`. */
export const endedSentence = (what: string, ended_at: string): string =>
  `${what} expired on ${ended_at}. An administrator has to rotate it or create another one.`;
