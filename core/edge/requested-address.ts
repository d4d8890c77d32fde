import type { Network } from '#core/process/env/settings.ts';
import { isTrusted } from './client-address.ts';
import { hostName, isLoopbackName } from './origins.ts';

/** The header in which our own front port says which origin its client asked for. */
export const REQUESTED_ORIGIN = 'x-asked-origin';

/** The addresses of one endpoint: the audiences of its tokens (RFC 8707), and what its metadata names (RFC 9728). */
export interface Addresses {
  /** The URL of the endpoint at an origin that a client asked for; at a name that is not ours, its public URL. @param alias instead of its path. */
  at(origin: string | null, alias?: string): string;
  /** Whether a text is one of them, or of what is below, but for slashes at its end. */
  include(url: string): boolean;
  /** What stands after the endpoint in such a text, empty for the endpoint itself; null: it is none of them. */
  restOf(url: string): string | null;
}

export interface AddressOptions {
  /** Of the endpoint below each URL, such as `/mcp`. */
  readonly path: string;
  /** Other paths of the same endpoint. */
  readonly aliases?: readonly string[];
  /** As clients see them; each may have a path. */
  readonly public_urls: readonly string[];
  /** Further names that are ours; loopback names always are. An IP literal is not, unless it is listed: anyone may stand there. */
  readonly names: () => ReadonlySet<string>;
  /**
   * Ports at which our programs are reached. Once the installation has an address on the network, a loopback name is ours at these
   * alone, and a further name at these and at the port of its scheme: whoever listens at another one is somebody else.
   */
  readonly own_ports: () => ReadonlySet<number>;
  /** The authorization server, for want of a public URL; null: it is not known. */
  readonly issuer?: () => string | null;
  /** The public URL, or for want of one the address on this machine. */
  readonly otherwise: () => string;
  /** Whether there may be an endpoint below: what stands after the path, such as `/sales`. Absent: there is none. */
  readonly below?: (rest: string) => boolean;
}

/** In time linear in its length, which a pattern does not keep to. */
export function withoutEndSlashes(url: string): string {
  let end = url.length;
  while (url[end - 1] === '/') end--;
  return url.slice(0, end);
}

/** An address with a slash at its end names the same resource. */
export const isSameAudience = (a: unknown, b: string): boolean =>
  a === b || (typeof a === 'string' && /^https?:/.test(b) && withoutEndSlashes(a) === withoutEndSlashes(b));

const USUAL_PORTS: Readonly<Record<string, number>> = { 'http:': 80, 'https:': 443 };

export function createAddresses(options: AddressOptions): Addresses {
  const { path, aliases = [], public_urls, names, own_ports, issuer = () => null, otherwise, below = () => false } = options;
  const isPublic = (): boolean =>
    [...public_urls, otherwise(), issuer()].some((url) => url !== null && !isLoopbackName(hostName(new URL(url).host) ?? ''));
  const known = (origin: string): string | null => {
    if (!URL.canParse(origin)) return null;
    const { protocol, host, port, pathname } = new URL(origin);
    const name = hostName(host);
    if (name === null || !/^https?:$/.test(protocol)) return null;
    const at_host = public_urls.filter((url) => new URL(url).host === host);
    const public_url = at_host.find((url) => new URL(url).pathname === pathname) ?? at_host[0];
    if (public_url !== undefined) return public_url;
    const is_loopback = isLoopbackName(name);
    if (!is_loopback && !names().has(name) && !names().has(name.replace(/^\[|\]$/g, ''))) return null;
    const is_usual = port === '' && !is_loopback;
    if (isPublic() && !is_usual && !own_ports().has(Number(port || USUAL_PORTS[protocol]))) return null;
    return `${protocol}//${host}`;
  };
  const restOf = (url: string): string | null => {
    const text = withoutEndSlashes(url);
    const after = (base: string): string | null => {
      const whole = `${base}${path}`;
      if (text === whole || aliases.some((alias) => text === `${base}${alias}`)) return '';
      return text.startsWith(`${whole}/`) && below(text.slice(whole.length)) ? text.slice(whole.length) : null;
    };
    const base = URL.canParse(text) ? known(new URL(text).origin) : null;
    return after(otherwise()) ?? (base === null ? null : after(base));
  };
  return {
    at: (origin, alias = path) => `${(origin === null ? null : known(origin)) ?? otherwise()}${alias}`,
    include: (url) => restOf(url) !== null,
    restOf,
  };
}

/** What a proxy adds to a request that it hands on. */
const FORWARDED = ['x-forwarded-for', 'x-forwarded-proto', 'x-forwarded-host'];
const PREFIX = /^(?:\/[\w.~-]+)+$/;

/**
 * The host that a client asked for, as a Host header says it. Some proxies ask us by another name, such as Apache by that of this
 * machine, and say the client's own beside it: a trusted one is believed.
 */
export function requestedHost(headers: Headers, socket_address: string | null, trusted: readonly Network[]): string | null {
  const host = headers.get('host');
  const forwarded = firstOf(headers, 'x-forwarded-host');
  if (forwarded === null || !isProxied(socket_address, trusted)) return host;
  const name = hostName(forwarded);
  // The same name comes with the port that the client asked for.
  if (name === null || name === hostName(host ?? '')) return host;
  const port = firstOf(headers, 'x-forwarded-port') ?? '';
  const is_usual = port === String(USUAL_PORTS[`${forwardedProto(headers)}:`]);
  return name === forwarded && /^\d{1,5}$/.test(port) && !is_usual ? `${name}:${port}` : forwarded;
}

/**
 * The origin that a client asked for, with the path in front of ours, as far as they are known: our front port says it, a trusted
 * proxy says the scheme, and its own name and path where it asks us by others.
 * @param is_ours the request comes from our front port.
 */
export function requestedOrigin(
  headers: Headers,
  is_ours: boolean,
  socket_address: string | null,
  trusted: readonly Network[],
): string | null {
  if (is_ours) return headers.get(REQUESTED_ORIGIN);
  const host = requestedHost(headers, socket_address, trusted);
  if (host === null) return null;
  if (!isProxied(socket_address, trusted)) return `http://${host}`;
  // Nobody behind a proxy asks for this machine: the proxy does, and does not say what its client asked for.
  const is_replaced = isLoopbackName(hostName(host) ?? '') && FORWARDED.some((name) => headers.has(name));
  if (is_replaced && !headers.has('x-forwarded-host')) return null;
  const prefix = withoutEndSlashes(firstOf(headers, 'x-forwarded-prefix') ?? '');
  return `${forwardedProto(headers)}://${host}${PREFIX.test(prefix) ? prefix : ''}`;
}

const isProxied = (socket_address: string | null, trusted: readonly Network[]): boolean =>
  socket_address !== null && isTrusted(socket_address, trusted);

const forwardedProto = (headers: Headers): 'http' | 'https' =>
  firstOf(headers, 'x-forwarded-proto')?.toLowerCase() === 'https' ? 'https' : 'http';

/** What the outermost proxy of a chain says. */
const firstOf = (headers: Headers, name: string): string | null => headers.get(name)?.split(',', 1)[0]?.trim() ?? null;
