import { Resolver } from 'node:dns/promises';
import { OrderError } from './ask.ts';

export interface PropagationOptions {
  /** Name servers to query instead of those of the zone, as `address:port`. */
  readonly servers?: readonly string[];
  readonly timeout_ms?: number;
  readonly every_ms?: number;
  readonly signal: AbortSignal;
}

const TIMEOUT_MS = 180_000;
const EVERY_MS = 2_000;
const MOST_ALIASES = 5;
const QUERY = { timeout: 3_000, tries: 2 };

/**
 * Name of the TXT record for a domain: `_acme-challenge` before it, or the name that this is an alias of (RFC 8555, section 8.4).
 */
export async function challengeRecord(domain: string, servers?: readonly string[]): Promise<string> {
  const resolver = resolverAt(servers);
  let name = `_acme-challenge.${domain.replace(/^\*\./, '')}`;
  for (let step = 0; step < MOST_ALIASES; step++) {
    const [alias] = await resolver.resolveCname(name).catch(() => []);
    if (alias === undefined) return name;
    name = alias.replace(/\.$/, '').toLowerCase();
  }
  throw new OrderError(`_acme-challenge.${domain} has too many CNAMEs in a row. Point it to the record in fewer steps.`);
}

/** Waits until every name server of the zone answers with the value. */
export async function awaitRecord(record: string, value: string, zone: string, options: PropagationOptions): Promise<void> {
  const { timeout_ms = TIMEOUT_MS, every_ms = EVERY_MS, signal } = options;
  const ends = performance.now() + timeout_ms;
  const servers = options.servers === undefined ? await serversOf(zone) : [options.servers];
  for (;;) {
    // A resolver caches a missing record, so each check uses a new one.
    const look = async (at: readonly (readonly string[] | undefined)[]): Promise<boolean[]> => {
      const answers = await Promise.all(at.map((server) => holds(resolverAt(server), record, value)));
      return answers.filter((answer) => answer !== null);
    };
    // All name servers that answer must have it. If none can be reached, the system's resolver decides.
    const answers = await look(servers);
    const results = answers.length > 0 ? answers : await look([undefined]);
    if (results.length > 0 && results.every(Boolean)) return;
    if (performance.now() > ends) {
      throw new OrderError(
        `The record ${record} is not visible on the name servers of ${zone} yet. Check that the registrar delegates to this zone.`,
      );
    }
    await Bun.sleep(every_ms);
    signal.throwIfAborted();
  }
}

const ABSENT: ReadonlySet<string> = new Set(['ENODATA', 'ENOTFOUND']);

/** Whether the record has the value. Null: no answer. */
async function holds(resolver: Resolver, record: string, value: string): Promise<boolean | null> {
  try {
    return (await resolver.resolveTxt(record)).some((parts) => parts.join('') === value);
  } catch (error) {
    return error instanceof Error && 'code' in error && ABSENT.has(String(error.code)) ? false : null;
  }
}

function resolverAt(servers?: readonly string[]): Resolver {
  const resolver = new Resolver(QUERY);
  if (servers !== undefined) resolver.setServers(servers);
  return resolver;
}

/** Each name server of a zone; the system's resolver when they cannot be found. */
async function serversOf(zone: string): Promise<(readonly string[] | undefined)[]> {
  const system = resolverAt();
  const names = await system.resolveNs(zone).catch(() => []);
  const addresses = await Promise.all(names.map((name) => system.resolve4(name).catch(() => [])));
  const servers = [...new Set(addresses.flat())];
  return servers.length === 0 ? [undefined] : servers.map((server) => [server]);
}
