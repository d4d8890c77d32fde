import type { ProviderUrls } from '#server/tls/keeper.ts';

/** What a name server is told. */
export interface Zones {
  add(name: string, value: string): Promise<void>;
  clear(name: string): Promise<void>;
}

export interface DnsProviders {
  readonly urls: ProviderUrls;
  /** Every request, as method and path. */
  readonly asked: string[];
  /** Records that are there now. */
  records(): string[];
  /** The TXT records of a name at Route 53, as somebody else sets and sees them. */
  readonly sets: Map<string, { ttl: string; values: string[] }>;
  /** Cloudflare's name servers have a new record only after so long. */
  delay(ms: number): void;
  stop(): Promise<void>;
}

export const CLOUDFLARE_TOKEN = 'canary-cloudflare-token-4be1';
export const AWS_KEYS = { access_key_id: 'AKIDEXAMPLE', secret_access_key: 'canary-aws-secret-key-91f7' };
const ZONE = 'example.com';
const ZONE_ID = '023e105f4ecef8ad9ca31a8372d0c353';
const HOSTED_ZONE = 'Z0123456789ABC';
const XMLNS = 'xmlns="https://route53.amazonaws.com/doc/2013-04-01/"';

/** Cloudflare (version 4) and Route 53 (2013-04-01) as far as their documentation describes what a challenge needs. */
export function startDnsProviders(zones: Zones): DnsProviders {
  const asked: string[] = [];
  const records = new Map<string, { name: string; value: string }>();
  let delay_ms = 0;
  let next = 1;
  const put = async (id: string, name: string, value: string): Promise<void> => {
    records.set(id, { name, value });
    await zones.add(name, value);
  };
  const drop = async (id: string): Promise<boolean> => {
    const record = records.get(id);
    if (record === undefined) return false;
    records.delete(id);
    await zones.clear(record.name);
    return true;
  };

  const cloudflare = async (request: Request, path: string, query: URLSearchParams): Promise<Response> => {
    const refused = (status: number, code: number, message: string) =>
      Response.json({ success: false, errors: [{ code, message }], messages: [], result: null }, { status });
    const done = (result: unknown) => Response.json({ success: true, errors: [], messages: [], result });
    if (request.headers.get('authorization') !== `Bearer ${CLOUDFLARE_TOKEN}`) return refused(403, 9109, 'Invalid access token');
    if (request.method === 'GET' && path === '/zones') {
      return done(query.get('name') === ZONE ? [{ id: ZONE_ID, name: ZONE, status: 'active' }] : []);
    }
    if (request.method === 'POST' && path === `/zones/${ZONE_ID}/dns_records`) {
      const { type, name, content, ttl } = (await request.json()) as Record<string, unknown>;
      if (type !== 'TXT' || typeof content !== 'string' || !/^".*"$/.test(content))
        return refused(400, 9005, 'Content for TXT record is invalid.');
      if (typeof ttl !== 'number' || (ttl !== 1 && ttl < 60))
        return refused(400, 9021, 'Invalid TTL. Must be between 60 and 86400.');
      if (!String(name).endsWith(`.${ZONE}`)) return refused(400, 9000, 'DNS name is invalid.');
      const id = String(next++).padStart(32, '0');
      setTimeout(() => void put(id, String(name), content.slice(1, -1)), delay_ms);
      return done({ id, type, name, content, ttl });
    }
    const id = new RegExp(`^/zones/${ZONE_ID}/dns_records/(\\w+)$`).exec(path)?.[1];
    if (request.method === 'DELETE' && id !== undefined)
      return (await drop(id)) ? done({ id }) : refused(404, 81044, 'Record does not exist.');
    return refused(404, 7003, 'Could not route to the path.');
  };

  const changes = new Map<string, number>();
  const sets: DnsProviders['sets'] = new Map();
  const tell = async (name: string): Promise<void> => {
    await zones.clear(name);
    for (const value of sets.get(name)?.values ?? []) await zones.add(name, value.slice(1, -1));
  };
  const route53 = async (request: Request, path: string, query: URLSearchParams): Promise<Response> => {
    const xml = (text: string, status = 200) =>
      new Response(`<?xml version="1.0" encoding="UTF-8"?>\n${text}`, { status, headers: { 'content-type': 'text/xml' } });
    const refused = (status: number, code: string, message: string) =>
      xml(
        `<ErrorResponse ${XMLNS}><Error><Type>Sender</Type><Code>${code}</Code><Message>${message}</Message></Error></ErrorResponse>`,
        status,
      );
    const date = request.headers.get('x-amz-date') ?? '';
    const scope = `${AWS_KEYS.access_key_id}/${date.slice(0, 8)}/us-east-1/route53/aws4_request`;
    const signed = new RegExp(`^AWS4-HMAC-SHA256 Credential=${scope}, SignedHeaders=host;x-amz-date, Signature=[0-9a-f]{64}$`);
    if (!signed.test(request.headers.get('authorization') ?? '')) {
      return refused(403, 'InvalidClientTokenId', 'The security token included in the request is invalid.');
    }
    const zone = (id: string, name: string, is_private: boolean) =>
      `<HostedZone><Id>/hostedzone/${id}</Id><Name>${name}.</Name><CallerReference>x</CallerReference><Config><PrivateZone>${is_private}</PrivateZone></Config><ResourceRecordSetCount>2</ResourceRecordSetCount></HostedZone>`;
    if (request.method === 'GET' && path === '/hostedzonesbyname') {
      // From the given name on, in their order: also zones that were not meant.
      const found =
        query.get('dnsname') === ZONE
          ? [zone('ZPRIVATE', ZONE, true), zone(HOSTED_ZONE, ZONE, false)]
          : [zone('ZOTHER', 'other.org', false)];
      return xml(
        `<ListHostedZonesByNameResponse ${XMLNS}><HostedZones>${found.join('')}</HostedZones><IsTruncated>false</IsTruncated><MaxItems>10</MaxItems></ListHostedZonesByNameResponse>`,
      );
    }
    if (request.method === 'GET' && path === `/hostedzone/${HOSTED_ZONE}`) {
      return xml(`<GetHostedZoneResponse ${XMLNS}>${zone(HOSTED_ZONE, ZONE, false)}</GetHostedZoneResponse>`);
    }
    if (request.method === 'GET' && path === `/hostedzone/${HOSTED_ZONE}/rrset`) {
      // From the given name on, in their order: also records that were not meant.
      const [found] = [...sets].toSorted(([a], [b]) => (a < b ? -1 : 1)).filter(([name]) => name >= (query.get('name') ?? ''));
      const records = found?.[1].values.map(
        (value) => `<ResourceRecord><Value>${value.replaceAll('&', '&amp;').replaceAll('"', '&quot;')}</Value></ResourceRecord>`,
      );
      const set =
        found &&
        `<ResourceRecordSet><Name>${found[0]}.</Name><Type>TXT</Type><TTL>${found[1].ttl}</TTL><ResourceRecords>${records?.join('')}</ResourceRecords></ResourceRecordSet>`;
      return xml(
        `<ListResourceRecordSetsResponse ${XMLNS}><ResourceRecordSets>${set ?? ''}</ResourceRecordSets><IsTruncated>false</IsTruncated><MaxItems>1</MaxItems></ListResourceRecordSetsResponse>`,
      );
    }
    if (request.method === 'POST' && path === `/hostedzone/${HOSTED_ZONE}/rrset/`) {
      const body = await request.text();
      const before = new Map(sets);
      for (const [, step = ''] of body.matchAll(/<Change>([\s\S]*?)<\/Change>/g)) {
        const of = (name: string) => new RegExp(`<${name}>([^<]*)</${name}>`).exec(step)?.[1] ?? '';
        const name = of('Name').replace(/\.$/, '');
        const values = [...step.matchAll(/<Value>([^<]*)<\/Value>/g)].map(([, value = '']) =>
          value.replaceAll(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code))),
        );
        const set = { ttl: of('TTL'), values };
        const [is_there, is_same] = [sets.has(name), JSON.stringify(sets.get(name)) === JSON.stringify(set)];
        const refusal =
          of('Type') !== 'TXT' || values.length === 0 || values.some((value) => !/^".*"$/.test(value))
            ? 'Invalid Resource Record'
            : of('Action') === 'CREATE' && is_there
              ? 'Tried to create resource record set but it already exists'
              : of('Action') === 'DELETE' && !is_same
                ? 'Tried to delete resource record set but it was not found'
                : null;
        if (refusal !== null) {
          // All changes of a batch, or none.
          sets.clear();
          for (const [kept, value] of before) sets.set(kept, value);
          return refused(400, 'InvalidChangeBatch', refusal);
        }
        if (of('Action') === 'DELETE') sets.delete(name);
        else sets.set(name, set);
      }
      for (const name of new Set([...before.keys(), ...sets.keys()])) {
        if (before.get(name) !== sets.get(name)) await tell(name);
      }
      const id = `C${String(next++).padStart(13, '0')}`;
      changes.set(id, 0);
      return xml(
        `<ChangeResourceRecordSetsResponse ${XMLNS}><ChangeInfo><Id>/change/${id}</Id><Status>PENDING</Status><SubmittedAt>2026-01-01T00:00:00Z</SubmittedAt></ChangeInfo></ChangeResourceRecordSetsResponse>`,
      );
    }
    const change = /^\/change\/(\w+)$/.exec(path)?.[1] ?? '';
    const looks = changes.get(change);
    if (request.method !== 'GET' || looks === undefined) return refused(404, 'NoSuchHostedZone', 'No hosted zone found');
    changes.set(change, looks + 1);
    return xml(
      `<GetChangeResponse ${XMLNS}><ChangeInfo><Id>/change/${change}</Id><Status>${looks > 0 ? 'INSYNC' : 'PENDING'}</Status></ChangeInfo></GetChangeResponse>`,
    );
  };

  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch(request) {
      const { pathname, searchParams } = new URL(request.url);
      asked.push(`${request.method} ${pathname}`);
      if (pathname.startsWith('/client/v4')) return cloudflare(request, pathname.slice('/client/v4'.length), searchParams);
      return route53(request, pathname.slice('/2013-04-01'.length), searchParams);
    },
  });
  const base = `http://127.0.0.1:${server.port}`;
  return {
    urls: { cloudflare: `${base}/client/v4`, route53: `${base}/2013-04-01` },
    asked,
    records: () => [...[...records.values()].map(({ name }) => name), ...sets.keys()],
    sets,
    delay: (ms) => {
      delay_ms = ms;
    },
    stop: () => server.stop(true),
  };
}
