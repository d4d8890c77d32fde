import type { Platform } from '#core/platform/platform.ts';
import type { SslStatus } from '#core/contract/deploy/ssl.ts';
import { signal } from '#core/platform/signals.ts';
import { AppError, refuseFields } from '#core/errors.ts';
import type { Handlers } from '#core/context/context.ts';
import {
  type CertificateRow,
  isCurrent,
  isValid,
  missingForOrder,
  orderKey,
  readCertificate,
  writeCertificate,
} from './certificates.ts';
import { domainsOf } from '#core/settings/public-urls.ts';
import { readSettings, type Settings } from '#core/settings/settings.ts';

const DAY_MS = 24 * 3_600_000;
/** A certificate expires soon when less than this share of its lifetime remains. */
const LAST_PART = 1 / 6;
const WAIT_MS = 300_000;
const LOOK_MS = 200;

export const sslHandlers: Pick<Handlers, `ssl.${'status' | 'issue'}`> = {
  'ssl.status': async ({ app }) => readStatus(app),
  'ssl.issue': async ({ app, signal: stop }, { force = false, wait = false }) => {
    if (app.env.SVC_RESTORE_DRILL)
      throw new AppError(
        'conflict',
        'This server is a restore drill, which orders no certificates. Restart it without SVC_RESTORE_DRILL.',
      );
    const { settings } = await readSettings(app);
    const errors = missingForOrder(settings);
    refuseFields(errors);
    const before = await readCertificate(app);
    await writeCertificate(app, { requested_at: app.clock().toISOString(), forced: force });
    await signal(app, 'certificate');
    if (!wait) return { status: 'pending' as const };
    return finished(app, before, stop);
  },
};

/** Waits until no order is in progress, and returns the status. Throws the reason of a failed order. */
async function finished(app: Platform, before: CertificateRow, stop: AbortSignal | undefined): Promise<SslStatus> {
  const ends = performance.now() + WAIT_MS;
  while (performance.now() < ends) {
    await app.sleep(LOOK_MS);
    if (stop?.aborted) throw new AppError('cancelled', 'The caller disconnected.');
    const row = await readCertificate(app);
    if (isUnderWay(row)) continue;
    const failed = row.last_error !== null && row.next_try_at !== before.next_try_at;
    if (failed) throw new AppError('unavailable', row.last_error ?? '');
    return readStatus(app);
  }
  throw new AppError('timeout', 'The certificate is not issued yet. The order continues; see its status and the live log.');
}

async function readStatus(app: Platform): Promise<SslStatus> {
  const [{ settings }, row] = await Promise.all([readSettings(app), readCertificate(app)]);
  const { issuer, valid_from, valid_until } = row;
  const left_ms = valid_until === null ? null : Date.parse(valid_until) - app.clock().getTime();
  return {
    status: statusOf(app, settings, row),
    domains: row.chain === null ? domainsOf(settings) : row.domains,
    issuer,
    valid_from,
    valid_until,
    days_remaining: left_ms === null ? null : Math.max(0, Math.floor(left_ms / DAY_MS)),
    next_renewal_at: nextOrder(app, settings, row),
    last_error: failureOf(app, settings, row),
    challenge: settings.acme_challenge,
  };
}

const isUnderWay = ({ requested_at }: CertificateRow): boolean => requested_at !== null;

const failureOf = (app: Platform, settings: Settings, row: CertificateRow): string | null =>
  row.ordered_for === orderKey(app, settings) ? row.last_error : null;

function statusOf(app: Platform, settings: Settings, row: CertificateRow): SslStatus['status'] {
  if (!settings.ssl_enabled) return 'none';
  if (isUnderWay(row)) return 'pending';
  if (row.chain === null || row.valid_from === null || row.valid_until === null) {
    return failureOf(app, settings, row) === null ? 'none' : 'error';
  }
  if (!isValid(app, row)) return 'expired';
  // The certificate does not cover the current domains, and ordering one for them failed.
  if (failureOf(app, settings, row) !== null && !isCurrent(app, settings, row)) return 'error';
  const [from, until] = [Date.parse(row.valid_from), Date.parse(row.valid_until)];
  return until - app.clock().getTime() < (until - from) * LAST_PART ? 'expiring_soon' : 'issued';
}

function nextOrder(app: Platform, settings: Settings, row: CertificateRow): string | null {
  if (!settings.ssl_enabled || !settings.auto_renew) return null;
  const { renew_at, next_try_at } = row;
  if (failureOf(app, settings, row) !== null || renew_at === null) return next_try_at;
  return next_try_at === null || next_try_at < renew_at ? renew_at : next_try_at;
}
