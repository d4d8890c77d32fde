import type { WithSources } from '#core/sources/source-pool.ts';
import type { WithHosts } from '#core/hosts/host-registry.ts';
import type { Platform } from '#core/platform/platform.ts';
import type { SigningKeys } from '#core/contract/identity/signing-keys.ts';
import { AppError } from '#core/errors.ts';
import { recordHistory } from '#core/records/history.ts';
import type { Handlers } from '#core/context/context.ts';
import { keyRotation, rotateKeys } from './keys.ts';

/** Hosts and caches of `/oauth/jwks` have a published key well before this time has passed. */
export const REST_MS = 10 * 60_000;
/** Maximum difference between the clocks of servers. */
const SKEW_MS = 60_000;
const SUBJECT = { entity_type: 'signing_key', entity_id: 'signing_keys', entity_name: 'Signing keys' } as const;
const ORDER = ['current', 'next', 'retired'] as const;

export const signingKeyHandlers: Pick<
  Handlers<WithSources & WithHosts>,
  Extract<keyof Handlers<WithSources & WithHosts>, `signing_keys.${string}`>
> = {
  'signing_keys.get': ({ app }) => show(app),
  'signing_keys.rotate': async (context) => {
    const { app } = context;
    const rotation = await keyRotation(app);
    const left = rotation === null ? 0 : Date.parse(rotation.since) + REST_MS - app.clock().getTime();
    // A rotation in the future was recorded by a clock that was ahead.
    if (left > 0 && left <= REST_MS + SKEW_MS) {
      throw new AppError(
        'conflict',
        `The keys rotated less than ${REST_MS / 60_000} minutes ago, and some hosts may not know the next key yet. Try again in ${Math.ceil(left / 60_000)} min.`,
      );
    }
    const rotated = await rotateKeys(app, {
      now: true,
      noteRotation: (tx, before, after) =>
        recordHistory(tx, context, { ...SUBJECT, before: { kid: before }, after: { kid: after } }),
    });
    if (!rotated) throw new AppError('conflict', 'Another server is rotating the keys. Try again in a moment.');
    return show(app);
  },
};

async function show(app: Platform): Promise<SigningKeys> {
  const { signing_keys: table } = app.store.tables;
  const rows = await app.store.db
    .select({ kid: table.kid, state: table.state, created_at: table.created_at, since: table.since })
    .from(table);
  const items = rows.sort((a, b) => ORDER.indexOf(a.state) - ORDER.indexOf(b.state) || (a.since < b.since ? 1 : -1));
  return { items, rotates_at: (await keyRotation(app))?.rotates_at ?? null };
}
