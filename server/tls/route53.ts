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
const NAMESPACE = 'https://route53.amazonaws.com/doc/2013-04-01/';

interface Zone {
  readonly id: string;
  readonly name: string;
}

/** Amazon Route 53, version 2013-04-01: XML over signed requests; the service is global and lives in us-east-1. */
export function route53({ url, credentials, ask, signal }: Route53Options): DnsProvider {
  const call = async (method: string, path: string, body?: string): Promise<string> => {
    const address = `${url}${path}`;
    const request = { method, url: address, region: 'us-east-1', service: 'route53', now: new Date() };
    const response = await ask(address, {
      method,
      headers: {
        ...signAws({ ...request, ...(body === undefined ? {} : { body }) }, credentials),
        ...(body === undefined ? {} : { 'content-type': 'application/xml' }),
      },
      ...(body === undefined ? {} : { body }),
      signal: AbortSignal.any([signal, AbortSignal.timeout(REQUEST_MS)]),
    });
    const text = await boundedText(response, ANSWER_CHARACTERS);
    if (response.ok) return text;
    throw new OrderError(refusal(response.status, text));
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
  const change = async (zone: Zone, action: 'UPSERT' | 'DELETE', name: string, value: string): Promise<string> => {
    const answer = await call('POST', `/hostedzone/${zone.id}/rrset/`, changeBatch(action, name, value));
    const id = element(answer, 'Id')?.replace(/^\/?change\//, '') ?? '';
    if (!/^[A-Z0-9]{1,64}$/i.test(id))
      throw new OrderError('Route 53 accepted the record but returned no change to follow. Try again.');
    return id;
  };
  const inSync = async (id: string): Promise<void> => {
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
      const id = await change(zone, 'UPSERT', name, value);
      const remove = async (): Promise<void> => {
        await change(zone, 'DELETE', name, value);
      };
      try {
        await inSync(id);
      } catch (error) {
        await remove().catch(() => undefined);
        throw error;
      }
      return { zone: zone.name, remove };
    },
  };
}

const changeBatch = (action: string, name: string, value: string): string =>
  `<?xml version="1.0" encoding="UTF-8"?><ChangeResourceRecordSetsRequest xmlns="${NAMESPACE}"><ChangeBatch><Changes><Change><Action>${action}</Action><ResourceRecordSet><Name>${escapeXml(name)}.</Name><Type>TXT</Type><TTL>${TTL}</TTL><ResourceRecords><ResourceRecord><Value>"${escapeXml(value)}"</Value></ResourceRecord></ResourceRecords></ResourceRecordSet></Change></Changes></ChangeBatch></ChangeResourceRecordSetsRequest>`;

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
    return `Route 53 rejects the credentials (${code}). dns_credentials must be an access key that can list hosted zones, change records and read changes.`;
  }
  const said = element(xml, 'Message') ?? '';
  return `Route 53 answered ${status}. It says: ${asSentence(said === '' ? 'nothing' : said)}`;
}
