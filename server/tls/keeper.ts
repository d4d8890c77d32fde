import type { ControlPlane } from '#core/control-plane/control-plane.ts';
import { type Lease, withLease } from '#core/platform/leases.ts';
import { runEvery } from '#core/platform/run-every.ts';
import { setSealed } from '#core/platform/sealed-kv.ts';
import { signal } from '#core/platform/signals.ts';
import { emitLater } from '#core/records/events.ts';
import {
  type CertificateRow,
  challengeKey,
  directoryOf,
  endRequest,
  isCurrent,
  missingForOrder,
  orderKey,
  readAccount,
  readCertificate,
  sealCertificateKey,
  writeAccount,
  writeCertificate,
} from '#core/server-config/certificates.ts';
import { domainsOf } from '#core/settings/public-urls.ts';
import { withTimeout } from '#core/lib/with-timeout.ts';
import { readSettings, type Settings } from '#core/settings/settings.ts';
import { openDnsCredentials } from '#core/settings/secrets.ts';
import { guardedFetch } from '#core/engines/shared/dial.ts';
import { orderCertificate, type Issued, type Solver } from './acme.ts';
import { type Ask, OrderError } from './ask.ts';
import type { AddedRecord } from './dns-provider.ts';
import { openDnsProvider, PROVIDER_URLS, type ProviderUrls } from './open-provider.ts';
import { awaitRecord, challengeRecord } from './propagation.ts';

export interface KeeperOptions {
  /** How authorities and DNS providers are asked; through the address guard unless given. */
  readonly ask?: Ask;
  readonly provider_urls?: ProviderUrls;
  /** Name servers that are asked for records instead of those of the zone. */
  readonly dns_servers?: readonly string[];
}

/** How often settings and dates are looked at; a request for an order is heard of at once. */
const LOOK_MS = 2_000;
const CHALLENGE_MS = 900_000;
/** The program ends within ten seconds, records of an order that it interrupts removed. */
const CLEAN_UP_MS = 3_000;
const nothing = (): void => undefined;
/** A certificate is renewed when so much of its life is over, at most so much of it earlier: not all at the same moment. */
const RENEW_AT = 2 / 3;
const EARLIER = 1 / 50;
/** After failures: 5 minutes, then ever later up to 6 hours, a quarter more or less. */
const FIRST_RETRY_MS = 300_000;
const LAST_RETRY_MS = 6 * 3_600_000;

/** Orders the certificate of the configured domains when it is wanted: none yet, other domains, about to end, asked for. */
export function keepCertificate(app: ControlPlane, options: KeeperOptions = {}): () => void {
  const log = app.log.from('tls');
  const ending = new AbortController();

  const turn = async (): Promise<void> => {
    const { settings } = await readSettings(app);
    const row = await readCertificate(app);
    const is_complete = missingForOrder(settings).length === 0;
    if (!is_complete || !isWanted(app, settings, row)) {
      if (row.requested_at === null) return;
      if (is_complete) log.info('the certificate is valid; use force to order another one', { valid_until: row.valid_until });
      return endRequest(app, row.requested_at);
    }
    const worked = await withLease(app, 'certificate', async (held, lease) => {
      // Another server may have ordered meanwhile.
      const latest = await readCertificate(app);
      if (!isWanted(app, settings, latest)) return true;
      const requested_at = latest.requested_at ?? app.clock().toISOString();
      if (latest.requested_at === null) await writeCertificate(held, { requested_at });
      // Only now: what a server that is killed leaves, another one orders.
      if ((await order(held, lease, settings, latest)) || latest.requested_at === null) await endRequest(held, requested_at);
      return true;
    });
    if (worked === true) await signal(app, 'certificate');
  };

  /** @returns whether it came to an end; the next start begins anew with one that this server's end interrupted. */
  const order = async (held: ControlPlane, lease: Lease, settings: Settings, before: CertificateRow): Promise<boolean> => {
    const failed_for = orderKey(app, settings);
    const ended = Promise.withResolvers<never>();
    ended.promise.catch(() => undefined);
    const end = () => ended.reject(new OrderError('The server stopped before the certificate was issued.'));
    const stop = AbortSignal.any([ending.signal, lease.lost]);
    if (stop.aborted) end();
    stop.addEventListener('abort', end);
    const placed = place(held, lease, settings, stop);
    const told = (data: Readonly<Record<string, unknown>>): void => {
      const key = app.clock().toISOString();
      emitLater(app, 'certificate', { ...data, domains: domainsOf(settings) }, { key, within_ms: 1_000 });
    };
    try {
      const issued = await Promise.race([placed, ended.promise]);
      await writeCertificate(held, {
        ...toRow(app, settings, issued),
        failures: 0,
        failed_for: null,
        last_error: null,
        next_try_at: null,
      });
      told({ status: 'issued', valid_until: issued.valid_until.toISOString() });
      log.info('certificate issued', {
        domains: domainsOf(settings),
        issuer: issued.issuer,
        valid_until: issued.valid_until.toISOString(),
      });
    } catch (error) {
      if (stop.aborted) {
        await withTimeout(placed.then(nothing, nothing), 2 * CLEAN_UP_MS, nothing);
        return false;
      }
      const last_error = error instanceof OrderError ? error.message : 'The order failed in the server. See its log.';
      const failures = before.failed_for === failed_for ? before.failures + 1 : 1;
      const next_try_at = new Date(app.clock().getTime() + retryAfter(failures)).toISOString();
      await writeCertificate(held, { failures, failed_for, last_error, next_try_at });
      told({ status: 'failed', error: last_error, failures, next_try_at });
      const cause = error instanceof OrderError ? error.cause : error;
      log.error('certificate not issued', {
        reason: last_error,
        failures,
        next_try_at,
        ...(cause instanceof Error ? { cause: `${cause.name}: ${cause.message}` } : {}),
      });
    } finally {
      stop.removeEventListener('abort', end);
    }
    return true;
  };

  const place = async (held: ControlPlane, lease: Lease, settings: Settings, stop: AbortSignal): Promise<Issued> => {
    const directory = directoryOf(app);
    const ask: Ask = options.ask ?? ((url, init) => guardedFetch(url, init, app.policy));
    // Whatever changes something at the authority is asked by the holder of the lease alone; an order is the account's either way.
    const askAlone: Ask = async (url, init) => {
      if (init.method === 'POST') await lease.check();
      return ask(url, init);
    };
    const progress = (message: string, fields: Record<string, unknown> = {}) => log.info(message, fields);
    return orderCertificate({
      directory,
      domains: domainsOf(settings),
      email: settings.acme_email ?? '',
      challenge: settings.acme_challenge,
      account: await readAccount(app, directory),
      keepAccount: (account) => writeAccount(held, directory, account),
      solver: settings.acme_challenge === 'dns-01' ? dnsSolver(settings, ask, progress) : httpSolver(app),
      ask: askAlone,
      signal: stop,
      progress,
    });
  };

  const dnsSolver = (
    settings: Settings,
    ask: Ask,
    progress: (message: string, fields: Record<string, unknown>) => void,
  ): Solver => {
    const added: AddedRecord[] = [];
    return {
      async present(proofs) {
        const credentials = openDnsCredentials(app.keyring, settings.dns_credentials);
        if (credentials === null) throw new OrderError('dns_credentials are required for the challenge dns-01.');
        const { dns_servers: servers, provider_urls = PROVIDER_URLS } = options;
        const provider = openDnsProvider(credentials, provider_urls, ask, ending.signal);
        for (const { domain, answer } of proofs) {
          const name = await challengeRecord(domain, servers);
          const record = await provider.add(name, answer);
          added.push(record);
          progress('DNS record added; waiting for its name servers', { domain, name, zone: record.zone });
          await awaitRecord(name, answer, record.zone, { signal: ending.signal, ...(servers === undefined ? {} : { servers }) });
        }
      },
      async remove() {
        // An order that was aborted cleans up all the same.
        const signal = AbortSignal.timeout(ending.signal.aborted ? CLEAN_UP_MS : 10 * CLEAN_UP_MS);
        const faults: unknown[] = [];
        for (const record of added) await record.remove(signal).catch((error: unknown) => faults.push(error));
        if (faults.length > 0) throw faults[0];
      },
    };
  };

  const end = runEvery(app, {
    every_ms: LOOK_MS,
    what: 'renewing the certificate',
    work: turn,
    at_once: true,
    wake: 'certificate',
  });
  return () => {
    ending.abort();
    end();
  };
}

function isWanted(app: ControlPlane, settings: Settings, row: CertificateRow): boolean {
  const now = app.clock().toISOString();
  // What waits for longer than any retry was written by a clock that was ahead.
  const latest = new Date(app.clock().getTime() + 1.25 * LAST_RETRY_MS).toISOString();
  const due = !isCurrent(app, settings, row) || (row.renew_at !== null && row.renew_at <= now);
  if (row.requested_at !== null) return due || row.forced;
  if (!due || !settings.auto_renew) return false;
  const waits =
    row.failed_for === orderKey(app, settings) && row.next_try_at !== null && row.next_try_at > now && row.next_try_at <= latest;
  return !waits;
}

function toRow(
  app: ControlPlane,
  settings: Settings,
  { chain, key, issuer, valid_from, valid_until }: Issued,
): Partial<CertificateRow> {
  const [from, until] = [valid_from.getTime(), valid_until.getTime()];
  const renew_at = from + (until - from) * (RENEW_AT - Math.random() * EARLIER);
  return {
    directory: directoryOf(app),
    domains: domainsOf(settings),
    chain,
    private_key: sealCertificateKey(app, key),
    issuer,
    valid_from: valid_from.toISOString(),
    valid_until: valid_until.toISOString(),
    renew_at: new Date(renew_at).toISOString(),
  };
}

const retryAfter = (failures: number): number =>
  Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** (failures - 1)) * (0.75 + Math.random() / 2);

/** The answers wait where every server of this installation looks, since any of them may be asked. */
function httpSolver(app: ControlPlane): Solver {
  const tokens: string[] = [];
  return {
    async present(proofs) {
      for (const { token, answer } of proofs) {
        tokens.push(token);
        await setSealed(app, challengeKey(token), answer, CHALLENGE_MS).catch((cause: unknown) => {
          throw new OrderError('The answer for the certificate authority could not be stored because Redis does not answer.', {
            cause,
          });
        });
      }
    },
    async remove() {
      for (const token of tokens) await app.kv.delete(challengeKey(token));
    },
  };
}
