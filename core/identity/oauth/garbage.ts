import type { Platform } from '#core/platform/platform.ts';
import { and, eq, inArray, lt, notExists, notInArray } from 'drizzle-orm';
import { runEvery } from '#core/platform/run-every.ts';
import { withSteadyClock } from '#core/platform/steady-clock.ts';
import { readSettings } from '#core/settings/settings.ts';
import { forgetRegistrations } from './clients/registrations.ts';

const EVERY_MS = 10 * 60_000;
const DAY_MS = 24 * 3_600_000;
/** How long a used code is stored. A second use within this time ends the grant. */
const CODES_MS = DAY_MS;

/**
 * Deletes expired requests, codes, assertions and refresh tokens, grants of deleted people or without a refresh token, and unused
 * registrations.
 */
export async function collectOauth(app: Platform): Promise<void> {
  const { oauth_requests, oauth_codes, oauth_refresh, oauth_grants, people, used_assertions } = app.store.tables;
  const now = app.clock();
  const before = (ms: number) => new Date(now.getTime() - ms).toISOString();
  const longest = (await readSettings(app)).settings.oauth_grant_days * DAY_MS;
  await app.store.write(async (tx) => {
    await tx.delete(oauth_requests).where(lt(oauth_requests.expires_at, before(0)));
    await tx.delete(oauth_codes).where(lt(oauth_codes.expires_at, before(CODES_MS)));
    await tx.delete(used_assertions).where(lt(used_assertions.expires_at, before(0)));
    await tx.delete(oauth_refresh).where(lt(oauth_refresh.expires_at, before(0)));
    const worn_out = tx
      .select({ id: oauth_grants.id })
      .from(oauth_grants)
      .where(lt(oauth_grants.created_at, before(longest)));
    await tx.delete(oauth_refresh).where(inArray(oauth_refresh.grant_id, worn_out));
    const renewable = tx
      .select({ digest: oauth_refresh.digest })
      .from(oauth_refresh)
      .where(eq(oauth_refresh.grant_id, oauth_grants.id));
    const alive = tx.select({ id: people.id }).from(people);
    await tx.delete(oauth_grants).where(notInArray(oauth_grants.person_id, alive));
    await tx.delete(oauth_grants).where(and(lt(oauth_grants.last_used_at, before(DAY_MS)), notExists(renewable)));
  });
  await forgetRegistrations(app);
}

/** @returns a function that stops it. */
export const keepCollectingOauth = (app: Platform): (() => void) =>
  runEvery(app, {
    every_ms: EVERY_MS,
    what: 'deleting expired sign-ins of MCP clients',
    work: async () => void (await withSteadyClock(app, collectOauth)),
  });
