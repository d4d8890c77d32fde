import { AsyncLocalStorage } from 'node:async_hooks';
import type { Authorization, Client } from 'acme-client';
import type { SslStatus } from '#core/contract/deploy/ssl.ts';
import { AppError } from '#core/errors.ts';
import type { AcmeAccount } from '#core/server-config/certificates.ts';
import { boundedText } from '#core/engines/shared/bounded-text.ts';
import { ANSWER_CHARACTERS, type Ask, asSentence, OrderError } from './ask.ts';

type ChallengeType = SslStatus['challenge'];

/** The challenge of one domain, and the value that the authority has to find. */
export interface Proof {
  readonly domain: string;
  readonly token: string;
  /** The body of the file (http-01) or the value of the TXT record (dns-01). */
  readonly answer: string;
}

/** Publishes proofs for the authority. */
export interface Solver {
  /** Resolves when the authority can find them. */
  present(proofs: readonly Proof[]): Promise<void>;
  /** Removes whatever `present` has left, also after it failed. */
  remove(): Promise<void>;
}

export interface OrderOptions {
  readonly directory: string;
  readonly domains: readonly string[];
  readonly email: string;
  readonly challenge: ChallengeType;
  readonly account: AcmeAccount | null;
  readonly keepAccount: (account: AcmeAccount) => Promise<void>;
  readonly solver: Solver;
  readonly ask: Ask;
  readonly signal: AbortSignal;
  readonly progress: (message: string, fields?: Record<string, unknown>) => void;
}

export interface Issued {
  /** PEM, the leaf first. */
  readonly chain: string;
  readonly key: string;
  readonly issuer: string;
  readonly valid_from: Date;
  readonly valid_until: Date;
}

/** Intervals while an authority checks: from 0.5 s up to 5 s, for 5 minutes in total. */
const WAITING = { backoffMin: 500, backoffMax: 5_000, backoffAttempts: 60 };
const REQUEST_MS = 30_000;

/** RFC 8555: account, order, proofs, certificate. Throws `OrderError` with a sentence for a person. */
export async function orderCertificate(options: OrderOptions): Promise<Issued> {
  const acme = await loadLibrary();
  return requests.run(options, async () => {
    try {
      return await runOrder(acme, options);
    } catch (error) {
      throw toOrderError(error);
    }
  });
}

async function runOrder({ Client, crypto }: Library, options: OrderOptions): Promise<Issued> {
  const { directory, domains, account, progress } = options;
  const account_key = account?.key ?? String(await crypto.createPrivateEcdsaKey());
  const client = new Client({ directoryUrl: directory, accountKey: account_key, ...WAITING });
  // The authority finds an existing account by its key; the contact address follows the settings.
  await client.createAccount({ termsOfServiceAgreed: true, contact: [`mailto:${options.email}`] });
  const url = client.getAccountUrl();
  if (account?.url !== url) await options.keepAccount({ key: account_key, url });
  progress('certificate ordered', { domains, directory, challenge: options.challenge });
  const order = await client.createOrder({ identifiers: domains.map((value) => ({ type: 'dns', value })) });
  const pending = (await client.getAuthorizations(order)).filter(({ status }) => status !== 'valid');
  await prove(client, pending, options);
  progress('control of the domains is proven', { domains });
  // The shortest name is the common name, which holds 64 characters at most.
  const altNames = domains.toSorted((a, b) => a.length - b.length);
  const [key, csr] = await crypto.createCsr({ altNames }, await crypto.createPrivateEcdsaKey());
  const finalized = await client.finalizeOrder(order, csr);
  const chain = await client.getCertificate(finalized);
  const { issuer, notBefore, notAfter } = crypto.readCertificateInfo(chain);
  return { chain, key: String(key), issuer: issuer.commonName, valid_from: notBefore, valid_until: notAfter };
}

async function prove(client: Client, pending: readonly Authorization[], options: OrderOptions): Promise<void> {
  const { challenge: challenge_type, solver, progress } = options;
  const tasks = await Promise.all(
    pending.map(async ({ identifier, challenges }) => {
      const challenge = challenges.find(({ type }) => type === challenge_type);
      if (challenge === undefined) {
        throw new OrderError(
          `The certificate authority does not offer ${challenge_type} for ${identifier.value}. Choose the other challenge.`,
        );
      }
      const answer = await client.getChallengeKeyAuthorization(challenge);
      return { challenge, proof: { domain: identifier.value, token: challenge.token, answer } };
    }),
  );
  try {
    await solver.present(tasks.map(({ proof }) => proof));
    for (const { challenge, proof } of tasks) {
      progress('the certificate authority checks', { domain: proof.domain, challenge: challenge_type });
      await client.completeChallenge(challenge);
    }
    for (const { challenge, proof } of tasks) {
      await client.waitForValidStatus(challenge).catch((error: unknown) => {
        throw new OrderError(
          `The certificate authority could not check ${proof.domain}. ${HINTS[challenge_type]} It says: ${reasonOf(error)}`,
        );
      });
    }
  } finally {
    await solver.remove().catch((error: unknown) => progress('a proof could not be removed', { reason: reasonOf(error) }));
  }
}

const HINTS: Readonly<Record<ChallengeType, string>> = {
  'http-01': 'The domain must resolve to this server, and port 80 must reach it.',
  'dns-01': 'The DNS credentials must be for the zone of this domain.',
};

type Library = typeof import('acme-client');

/** Requests of the library go through the address guard. A failed one is not repeated: the next order tries again. */
const requests = new AsyncLocalStorage<Pick<OrderOptions, 'ask' | 'signal'>>();
let library: Promise<Library> | undefined;

function loadLibrary(): Promise<Library> {
  library ??= import('acme-client').then((acme) => {
    acme.axios.defaults.adapter = async (config) => {
      const under_way = requests.getStore();
      if (under_way === undefined) throw new OrderError('An order ended before its last request.');
      const { ask, signal } = under_way;
      const response = await ask(config.url ?? '', {
        method: (config.method ?? 'get').toUpperCase(),
        headers: config.headers.toJSON() as Record<string, string>,
        ...(typeof config.data === 'string' ? { body: config.data } : {}),
        signal: AbortSignal.any([signal, AbortSignal.timeout(REQUEST_MS)]),
      });
      const { status, statusText, headers } = response;
      return {
        data: await boundedText(response, ANSWER_CHARACTERS),
        status,
        statusText,
        headers: Object.fromEntries(headers),
        config,
      };
    };
    return acme;
  });
  return library;
}

function toOrderError(error: unknown): OrderError {
  if (error instanceof OrderError) return error;
  if (error instanceof Error && error.name === 'TimeoutError')
    return new OrderError('The certificate authority did not answer in time. Try again.', { cause: error });
  if (error instanceof AppError)
    return new OrderError(`The certificate authority cannot be reached. ${error.detail}`, { cause: error });
  return new OrderError(`The certificate authority refused the order. It says: ${reasonOf(error)}`, { cause: error });
}

const reasonOf = (error: unknown): string => asSentence(error instanceof Error ? error.message : String(error));
