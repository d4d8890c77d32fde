import { type Ask, OrderError } from './ask.ts';
import type { ControlPlane } from '#core/control-plane/control-plane.ts';
import { type Outcome, runEvery } from '#core/platform/run-every.ts';
import { type Log, reasonOf } from '#core/process/log.ts';
import { type Lease, withLease } from '#core/platform/leases.ts';
import { signal } from '#core/platform/signals.ts';
import { emitLater } from '#core/records/events.ts';
import {
  type CertificateRow,
  directoryOf,
  endRequest,
  missingForOrder,
  orderKey,
  readAccount,
  readCertificate,
  writeAccount,
  writeCertificate,
  isCurrent,
  sealCertificateKey,
  challengeKey,
} from '#core/server-config/certificates.ts';
import { domainsOf } from '#core/settings/public-urls.ts';
import { withTimeout } from '#core/lib/with-timeout.ts';
import { readSettings, type Settings } from '#core/settings/settings.ts';
import { openDnsCredentials } from '#core/settings/secrets.ts';
import { guardedFetch } from '#core/engines/shared/dial.ts';
import { orderCertificate, type Issued, type Solver } from './acme.ts';
import type { AddedRecord, DnsProvider } from './dns-provider.ts';
import { awaitRecord, challengeRecord } from './propagation.ts';
import { setSealed } from '#core/platform/sealed-kv.ts';
import type { DnsCredentials } from '#core/contract/settings/setting-values.ts';
import { cloudflare } from './cloudflare.ts';
import { route53 } from './route53.ts';

/** Base URLs of the providers' APIs; tests set others. */
export interface ProviderUrls {
  readonly cloudflare: string;
  readonly route53: string;
}

const PROVIDER_URLS: ProviderUrls = {
  cloudflare: 'https://api.cloudflare.com/client/v4',
  route53: 'https://route53.amazonaws.com/2013-04-01',
};

const openDnsProvider = (credentials: DnsCredentials, urls: ProviderUrls, ask: Ask, signal: AbortSignal): DnsProvider =>
  'api_token' in credentials
    ? cloudflare({ url: urls.cloudflare, api_token: credentials.api_token, ask, signal })
    : route53({ url: urls.route53, credentials, ask, signal });

export interface KeeperOptions {
  /** Sends requests to authorities and DNS providers; through the address guard by default. */
  readonly ask?: Ask;
  readonly provider_urls?: ProviderUrls;
  /** Name servers to query instead of those of the zone. */
  readonly dns_servers?: readonly string[];
}

/** How often settings and dates are checked. A requested order starts at once. */
const LOOK_MS = 2_000;

const CHALLENGE_MS = 900_000;

/** How long an interrupted order may take to remove its records: the program has ten seconds to end. */
const CLEAN_UP_MS = 3_000;

const nothing = (): void => undefined;

/** The part of its lifetime after which a certificate is renewed, less a random part, so that not all renew at once. */
const RENEW_AT = 2 / 3;

const EARLIER = 1 / 50;

/** Delays after failures: from 5 minutes up to 6 hours, varied by a quarter. */
const FIRST_RETRY_MS = 300_000;

const LAST_RETRY_MS = 6 * 3_600_000;

/**
 * Orders a certificate when there is none for the configured domains, when it is about to expire, or on request. @returns a function
 * that ends it.
 */
export function keepCertificate(app: ControlPlane, options: KeeperOptions = {}): () => void {
  const ending = new AbortController();
  const keeper = new Keeper(app, options, ending.signal);
  const end = runEvery(app, {
    every_ms: LOOK_MS,
    what: 'renewing the certificate',
    work: () => keeper.turn(),
    at_once: true,
    wake: 'certificate',
  });
  return () => {
    ending.abort();
    end();
  };
}

class Keeper {
  readonly #app: ControlPlane;
  readonly #options: KeeperOptions;
  readonly #log: Log;
  readonly #ending: AbortSignal;

  constructor(app: ControlPlane, options: KeeperOptions, ending: AbortSignal) {
    this.#app = app;
    this.#options = options;
    this.#log = app.log.from('tls');
    this.#ending = ending;
  }

  async turn(): Promise<Outcome> {
    const { settings } = await readSettings(this.#app);
    const row = await readCertificate(this.#app);
    const is_complete = missingForOrder(settings).length === 0;
    if (!is_complete || !isDue(this.#app, settings, row)) {
      // The date of a certificate that may be ordered comes without a write.
      if (row.requested_at === null) return is_complete ? undefined : 'idle';
      if (is_complete)
        this.#log.info('the certificate is valid; use force to order another one', { valid_until: row.valid_until });
      return endRequest(this.#app, row.requested_at);
    }
    const worked = await withLease(this.#app, 'certificate', async (held, lease) => {
      // Another server may have ordered one in between.
      const latest = await readCertificate(this.#app);
      if (!isDue(this.#app, settings, latest)) return true;
      const requested_at = latest.requested_at ?? this.#app.clock().toISOString();
      if (latest.requested_at === null) await writeCertificate(held, { requested_at });
      // Ended after the order, so that another server orders if this one is killed.
      if ((await this.#order(held, lease, settings, latest)) || latest.requested_at === null)
        await endRequest(held, requested_at);
      return true;
    });
    if (worked === true) await signal(this.#app, 'certificate');
  }

  /** @returns whether it ended. An order that this server's shutdown interrupts begins again at the next start. */
  async #order(held: ControlPlane, lease: Lease, settings: Settings, before: CertificateRow): Promise<boolean> {
    const ordered_for = orderKey(this.#app, settings);
    const in_ms = (ms: number): string => new Date(this.#app.clock().getTime() + ms).toISOString();
    const ended = Promise.withResolvers<never>();
    ended.promise.catch(() => undefined);
    const end = () => ended.reject(new OrderError('The server stopped before the certificate was issued.'));
    const stop = AbortSignal.any([this.#ending, lease.lost]);
    if (stop.aborted) end();
    stop.addEventListener('abort', end);
    const placed = this.#path(held, lease, settings, stop);
    const emit = (data: Readonly<Record<string, unknown>>): void => {
      const key = this.#app.clock().toISOString();
      emitLater(this.#app, 'certificate', { ...data, domains: domainsOf(settings) }, { key, within_ms: 1_000 });
    };
    try {
      const issued = await Promise.race([placed, ended.promise]);
      await writeCertificate(held, {
        ...toRow(this.#app, settings, issued),
        failures: 0,
        ordered_for,
        last_error: null,
        next_try_at: in_ms(pauseAfter(issued)),
      });
      emit({ status: 'issued', valid_until: issued.valid_until.toISOString() });
      this.#log.info('certificate issued', {
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
      const failures = before.ordered_for === ordered_for ? before.failures + 1 : 1;
      const next_try_at = in_ms(retryAfter(failures));
      await writeCertificate(held, { failures, ordered_for, last_error, next_try_at });
      emit({ status: 'failed', error: last_error, failures, next_try_at });
      const cause = error instanceof OrderError ? error.cause : error;
      this.#log.error('certificate not issued', {
        reason: last_error,
        failures,
        next_try_at,
        ...(cause instanceof Error ? { cause: `${cause.name}: ${reasonOf(cause)}` } : {}),
      });
    } finally {
      stop.removeEventListener('abort', end);
    }
    return true;
  }

  async #path(held: ControlPlane, lease: Lease, settings: Settings, stop: AbortSignal): Promise<Issued> {
    const directory = directoryOf(this.#app);
    const ask: Ask = this.#options.ask ?? ((url, init) => guardedFetch(url, init, this.#app.policy));
    // Only the holder of the lease may send requests that change something at the authority. Orders belong to the account anyway.
    const requestAsLeaseHolder: Ask = async (url, init) => {
      if (init.method === 'POST') await lease.check();
      return ask(url, init);
    };
    const progress = (message: string, fields: Record<string, unknown> = {}) => this.#log.info(message, fields);
    return orderCertificate({
      directory,
      domains: domainsOf(settings),
      email: settings.acme_email ?? '',
      challenge: settings.acme_challenge,
      account: await readAccount(this.#app, directory),
      keepAccount: (account) => writeAccount(held, directory, account),
      solver: settings.acme_challenge === 'dns-01' ? this.#dnsSolver(settings, ask, progress) : httpSolver(this.#app),
      ask: requestAsLeaseHolder,
      signal: stop,
      progress,
    });
  }

  #dnsSolver(settings: Settings, ask: Ask, progress: (message: string, fields: Record<string, unknown>) => void): Solver {
    const added: AddedRecord[] = [];
    return {
      present: async (proofs) => {
        const credentials = await openDnsCredentials(this.#app.secrets, settings.dns_credentials);
        if (credentials === null) throw new OrderError('dns_credentials are required for the challenge dns-01.');
        const { dns_servers: servers, provider_urls = PROVIDER_URLS } = this.#options;
        const provider = openDnsProvider(credentials, provider_urls, ask, this.#ending);
        for (const { domain, answer } of proofs) {
          const name = await challengeRecord(domain, servers);
          const record = await provider.add(name, answer);
          added.push(record);
          progress('DNS record added; waiting for its name servers', { domain, name, zone: record.zone });
          await awaitRecord(name, answer, record.zone, {
            signal: this.#ending,
            ...(servers === undefined ? {} : { servers }),
          });
        }
      },
      remove: async () => {
        // An aborted order is cleaned up too.
        const signal = AbortSignal.timeout(this.#ending.aborted ? CLEAN_UP_MS : 10 * CLEAN_UP_MS);
        const faults: unknown[] = [];
        for (const record of added) await record.remove(signal).catch((error: unknown) => faults.push(error));
        if (faults.length > 0) throw faults[0];
      },
    };
  }
}

function isDue(app: ControlPlane, settings: Settings, row: CertificateRow): boolean {
  const now = app.clock().toISOString();
  // A later retry was scheduled by a clock that was ahead.
  const latest = new Date(app.clock().getTime() + 1.25 * LAST_RETRY_MS).toISOString();
  const due = !isCurrent(app, settings, row) || (row.renew_at !== null && row.renew_at <= now);
  if (row.requested_at !== null) return due || row.forced;
  if (!due || !settings.auto_renew) return false;
  const waits =
    row.ordered_for === orderKey(app, settings) && row.next_try_at !== null && row.next_try_at > now && row.next_try_at <= latest;
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

/**
 * Time in ms between a successful order and the next: a thirtieth of the certificate's lifetime, from 5 minutes to 6 hours. With
 * a wrong clock, a new certificate can look due or expired at once, and authorities refuse clients that order again and again.
 */
const pauseAfter = ({ valid_from, valid_until }: Issued): number =>
  Math.min(LAST_RETRY_MS, Math.max(FIRST_RETRY_MS, (valid_until.getTime() - valid_from.getTime()) / 30));

const retryAfter = (failures: number): number =>
  Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** (failures - 1)) * (0.75 + Math.random() / 2);

/** Stores the answers for all servers of the installation, since the authority may query any of them. */
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
