import type { DnsCredentials } from '#core/contract/settings/setting-values.ts';
import { boundedText } from '#core/engines/shared/bounded-text.ts';
import { ANSWER_CHARACTERS, type Ask, asSentence, OrderError } from './ask.ts';
import { type DnsProvider, zoneCandidates } from './dns-provider.ts';
import { signAws } from './sigv4.ts';

export interface Route53Options {
  readonly url: string;
  readonly credentials: Extract<DnsCredentials, { access_key_id: string }>;
  readonly ask: Ask;
  readonly signal: AbortSignal;
}

const REQUEST_MS = 30_000;
const TTL = 60;
const LOOK_MS = 2_000;
const IN_SYNC_MS = 180_000;
/** Attempts to write a record set while another client changes it. */
const TRIES = 3;
/** Time limit for removing the records of an ended order. */
const UNDO_MS = 5_000;
const NAMESPACE = 'https://route53.amazonaws.com/doc/2013-04-01/';

interface Zone {
  readonly id: string;
  readonly name: string;
}

/** All TXT records of one name: a record set in Route 53. */
interface RecordSet {
  readonly ttl: number;
  /** Quoted, as the name server has them. */
  readonly values: readonly string[];
}

/** Amazon Route 53, version 2013-04-01: XML over signed requests. The service is global, in the region us-east-1. */
export function route53({ url, credentials, ask, signal }: Route53Options): DnsProvider {
  const call = async (method: string, path: string, body?: string, until = signal): Promise<string> => {
    const address = `${url}${path}`;
    const request = { method, url: address, region: 'us-east-1', service: 'route53', now: new Date() };
    const response = await ask(address, {
      method,
      headers: {
        ...signAws({ ...request, ...(body === undefined ? {} : { body }) }, credentials),
        ...(body === undefined ? {} : { 'content-type': 'application/xml' }),
      },
      ...(body === undefined ? {} : { body }),
      signal: AbortSignal.any([until, AbortSignal.timeout(REQUEST_MS)]),
    });
    const text = await boundedText(response, ANSWER_CHARACTERS);
    if (response.ok) return text;
    throw new OrderError(refusal(response.status, text), { cause: element(text, 'Code') });
  };
  const zoneOf = async (record: string): Promise<Zone> => {
    const { hosted_zone_id } = credentials;
    if (hosted_zone_id !== undefined) {
      const id = hosted_zone_id.replace(/^\/?hostedzone\//, '');
      if (!/^[A-Z0-9]{1,32}$/i.test(id))
        throw new OrderError('dns_credentials.hosted_zone_id must be the id of a hosted zone, such as Z0123456789ABC.');
      return { id, name: nameOf(element(await call('GET', `/hostedzone/${id}`), 'Name') ?? '') };
    }
    for (const name of zoneCandidates(record)) {
      const found = zonesIn(await call('GET', `/hostedzonesbyname?dnsname=${encodeURIComponent(name)}&maxitems=10`));
      const zone = found.find((candidate) => candidate.name === name);
      if (zone !== undefined) return zone;
    }
    throw new OrderError(
      `Route 53 has no public hosted zone for ${record} in this account. Check dns_credentials and the domain.`,
    );
  };
  const recordsOf = async (zone: Zone, name: string, until: AbortSignal): Promise<RecordSet | null> => {
    const query = new URLSearchParams({ name, type: 'TXT', maxitems: '1' });
    const answer = await call('GET', `/hostedzone/${zone.id}/rrset?${query}`, undefined, until);
    // The list starts at the name, or at the next one when there is no such name.
    const is_there = nameOf(element(answer, 'Name') ?? '') === nameOf(name) && element(answer, 'Type') === 'TXT';
    if (!is_there) return null;
    const values = [...answer.matchAll(/<Value>([^<]*)<\/Value>/g)].map(([, value = '']) => unescapeXml(value));
    return { ttl: Number(element(answer, 'TTL') ?? TTL), values };
  };
  /** Changes the records of a name and leaves those of others. @returns null when there is nothing to change. */
  const change = async (
    zone: Zone,
    name: string,
    next: (values: readonly string[]) => readonly string[],
    until: AbortSignal,
  ): Promise<string | null> => {
    for (let tries = 1; ; tries++) {
      const before = await recordsOf(zone, name, until);
      const [old = [], values] = [before?.values, next(before?.values ?? [])];
      if (values.length === old.length) return null;
      // Route 53 deletes a record set only if it is as it was read, so no change of another client is lost.
      const steps = [before && changeOf('DELETE', name, before)];
      if (values.length > 0) steps.push(changeOf('CREATE', name, { ttl: before?.ttl ?? TTL, values }));
      try {
        const answer = await call('POST', `/hostedzone/${zone.id}/rrset/`, changeBatch(steps), until);
        return element(answer, 'Id')?.replace(/^\/?change\//, '') ?? '';
      } catch (error) {
        if (tries === TRIES || !(error instanceof OrderError) || error.cause !== 'InvalidChangeBatch') throw error;
      }
    }
  };
  const inSync = async (id: string): Promise<void> => {
    if (!/^[A-Z0-9]{1,64}$/i.test(id))
      throw new OrderError('Route 53 accepted the record but returned no change to follow. Try again.');
    const ends = performance.now() + IN_SYNC_MS;
    while (performance.now() < ends) {
      if (element(await call('GET', `/change/${id}`), 'Status') === 'INSYNC') return;
      await Bun.sleep(LOOK_MS);
      signal.throwIfAborted();
    }
    throw new OrderError('Route 53 did not distribute the record to all of its servers in time. Try again.');
  };
  return {
    async add(name, value) {
      const zone = await zoneOf(name);
      const quoted = `"${value}"`;
      const remove = async (until: AbortSignal): Promise<void> => {
        await change(zone, name, (values) => values.filter((other) => other !== quoted), until);
      };
      try {
        const id = await change(zone, name, (values) => [...new Set([...values, quoted])], signal);
        if (id !== null) await inSync(id);
      } catch (error) {
        await remove(AbortSignal.timeout(UNDO_MS)).catch(() => undefined);
        throw error;
      }
      return { zone: zone.name, remove };
    },
  };
}

const changeBatch = (changes: readonly (string | null)[]): string =>
  `<?xml version="1.0" encoding="UTF-8"?><ChangeResourceRecordSetsRequest xmlns="${NAMESPACE}"><ChangeBatch><Changes>${changes.join('')}</Changes></ChangeBatch></ChangeResourceRecordSetsRequest>`;

const changeOf = (action: 'CREATE' | 'DELETE', name: string, { ttl, values }: RecordSet): string => {
  const records = values.map((value) => `<ResourceRecord><Value>${escapeXml(value)}</Value></ResourceRecord>`).join('');
  return `<Change><Action>${action}</Action><ResourceRecordSet><Name>${escapeXml(name)}.</Name><Type>TXT</Type><TTL>${ttl}</TTL><ResourceRecords>${records}</ResourceRecords></ResourceRecordSet></Change>`;
};

const zonesIn = (xml: string): Zone[] =>
  [...xml.matchAll(/<HostedZone>([\s\S]*?)<\/HostedZone>/g)]
    .map((match) => match[1] ?? '')
    .filter((zone) => element(zone, 'PrivateZone') !== 'true')
    .map((zone) => ({
      id: (element(zone, 'Id') ?? '').replace(/^\/?hostedzone\//, ''),
      name: nameOf(element(zone, 'Name') ?? ''),
    }));

const nameOf = (name: string): string => name.replace(/\.$/, '').toLowerCase();
const element = (xml: string, name: string): string | undefined => new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1];
const escapeXml = (text: string): string => text.replaceAll(/[<>&"']/g, (sign) => `&#${sign.charCodeAt(0)};`);
const SIGNS: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" };
const unescapeXml = (text: string): string =>
  text.replaceAll(/&(?:#(\d+)|#x([\da-f]+)|(lt|gt|amp|quot|apos));/gi, (_, decimal?: string, hex?: string, name?: string) =>
    name === undefined
      ? String.fromCodePoint(Number.parseInt(decimal ?? hex ?? '', decimal === undefined ? 16 : 10))
      : (SIGNS[name] ?? ''),
  );

const REFUSED: ReadonlySet<string> = new Set([
  'InvalidClientTokenId',
  'SignatureDoesNotMatch',
  'AccessDenied',
  'UnrecognizedClientException',
  'MissingAuthenticationToken',
]);

function refusal(status: number, xml: string): string {
  const code = element(xml, 'Code') ?? '';
  if (REFUSED.has(code)) {
    return `Route 53 rejects the credentials (${code}). dns_credentials must be an access key that can list hosted zones and their records, change records and read changes.`;
  }
  const message = element(xml, 'Message') ?? '';
  return `Route 53 answered ${status}. It says: ${asSentence(message === '' ? 'nothing' : message)}`;
}
