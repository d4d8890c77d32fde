import * as v from 'valibot';
import { type Ask, asSentence, OrderError, readJson } from './ask.ts';
import { type DnsProvider, zoneCandidates } from './dns-provider.ts';

export interface CloudflareOptions {
  readonly url: string;
  /** With the permissions Zone › Zone › Read and Zone › DNS › Edit. */
  readonly api_token: string;
  readonly ask: Ask;
  readonly signal: AbortSignal;
}

const REQUEST_MS = 30_000;
/** In seconds: the minimum of Cloudflare. */
const TTL = 60;

const Envelope = v.object({
  success: v.boolean(),
  errors: v.optional(v.array(v.object({ code: v.optional(v.number()), message: v.string() })), []),
  result: v.optional(v.unknown()),
});
const Zones = v.array(v.object({ id: v.string(), name: v.string() }));
const Created = v.object({ id: v.string() });

/** Cloudflare's REST interface, version 4. */
export function cloudflare({ url, api_token, ask, signal }: CloudflareOptions): DnsProvider {
  const call = async (method: string, path: string, body?: object, until = signal): Promise<unknown> => {
    const response = await ask(`${url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${api_token}`,
        accept: 'application/json',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.any([until, AbortSignal.timeout(REQUEST_MS)]),
    });
    const parsed = v.safeParse(Envelope, await readJson(response));
    if (parsed.success && parsed.output.success) return parsed.output.result;
    if (response.status === 401 || response.status === 403) {
      throw new OrderError(
        'Cloudflare rejects the API token. dns_credentials.api_token must have the permissions Zone Read and DNS Edit for the zone.',
      );
    }
    const messages = parsed.success ? parsed.output.errors.map(({ message }) => message).join(' ') : '';
    throw new OrderError(
      `Cloudflare answered ${response.status}. It says: ${asSentence(messages === '' ? 'nothing' : messages)}`,
    );
  };
  const zoneOf = async (record: string) => {
    for (const name of zoneCandidates(record)) {
      const found = v.parse(Zones, await call('GET', `/zones?name=${encodeURIComponent(name)}`));
      const zone = found.find((candidate) => candidate.name === name);
      if (zone !== undefined) return zone;
    }
    throw new OrderError(
      `Cloudflare has no zone for ${record} that this API token can read. Check dns_credentials and the domain.`,
    );
  };
  return {
    async add(name, value) {
      const zone = await zoneOf(name);
      const record = { type: 'TXT', name, content: `"${value}"`, ttl: TTL };
      const { id } = v.parse(Created, await call('POST', `/zones/${zone.id}/dns_records`, record));
      return {
        zone: zone.name,
        remove: async (until) => {
          await call('DELETE', `/zones/${zone.id}/dns_records/${id}`, undefined, until);
        },
      };
    },
  };
}
