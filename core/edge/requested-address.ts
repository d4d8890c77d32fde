import type { Network } from '#core/process/env/settings.ts';
import { isTrusted } from './client-address.ts';
import { hostName, isLoopbackName } from './origins.ts';

/** The header in which the front port forwards the origin that the client requested. */
export const REQUESTED_ORIGIN = 'x-asked-origin';

/** The addresses of one endpoint: the audiences of its tokens (RFC 8707) and the resource in its metadata (RFC 9728). */
export interface Addresses {
  /**
   * The endpoint's URL at the origin that a client requested, or its public URL if the origin is unknown. @param alias replaces
   * the path.
   */
  at(origin: string | null, alias?: string): string;
  /** Whether a URL is an address of the endpoint or below it. Trailing slashes are ignored. */
  include(url: string): boolean;
  /** The path after the endpoint, empty for the endpoint itself; null if the URL is not an address of it. */
  restOf(url: string): string | null;
}

export interface AddressOptions {
  /** Path of the endpoint below each URL, such as `/mcp`. */
  readonly path: string;
  /** Other paths of the same endpoint. */
  readonly aliases?: readonly string[];
  /** URLs that clients use; each can have a path. */
  readonly public_urls: readonly string[];
  /**
   * Other accepted host names, besides loopback names. IP literals must be listed, because an address can belong to any machine.
   */
  readonly names: () => ReadonlySet<string>;
  /**
   * Ports of this installation. Once it has a public address, loopback names are accepted only with these ports, and other names
   * with these or the scheme's default port: any other port belongs to another program.
   */
  readonly installation_ports: () => ReadonlySet<number>;
  /** The authorization server, used if there is no public URL; null if unknown. */
  readonly issuer?: () => string | null;
  /** The public URL, or else the address on this machine. */
  readonly otherwise: () => string;
  /** Whether the path after the endpoint, such as `/sales`, can be an endpoint. Absent: never. */
  readonly below?: (rest: string) => boolean;
}

/** A loop, because a regular expression would not run in linear time. */
export function withoutEndSlashes(url: string): string {
  let end = url.length;
  while (url[end - 1] === '/') end--;
  return url.slice(0, end);
}

/** Compares audiences without trailing slashes. */
export const isSameAudience = (a: unknown, b: string): boolean =>
  a === b || (typeof a === 'string' && /^https?:/.test(b) && withoutEndSlashes(a) === withoutEndSlashes(b));

const USUAL_PORTS: Readonly<Record<string, number>> = { 'http:': 80, 'https:': 443 };

export function createAddresses(options: AddressOptions): Addresses {
  const {
    path,
    aliases = [],
    public_urls,
    names,
    installation_ports,
    issuer = () => null,
    otherwise,
    below = () => false,
  } = options;
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
    if (isPublic() && !is_usual && !installation_ports().has(Number(port || USUAL_PORTS[protocol]))) return null;
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

/** Headers that proxies add to forwarded requests. */
const FORWARDED = ['x-forwarded-for', 'x-forwarded-proto', 'x-forwarded-host'];
const PREFIX = /^(?:\/[\w.~-]+)+$/;

/**
 * The host that a client requested, from the Host header. Some proxies replace it (Apache sends this machine's name) and forward
 * the client's in `X-Forwarded-Host`, which is accepted from trusted proxies.
 */
export function requestedHost(headers: Headers, socket_address: string | null, trusted: readonly Network[]): string | null {
  const host = headers.get('host');
  const forwarded = firstOf(headers, 'x-forwarded-host');
  if (forwarded === null || !isProxied(socket_address, trusted)) return host;
  const name = hostName(forwarded);
  // If the names are equal, Host also has the port that the client requested.
  if (name === null || name === hostName(host ?? '')) return host;
  const port = firstOf(headers, 'x-forwarded-port') ?? '';
  const is_usual = port === String(USUAL_PORTS[`${forwardedProto(headers)}:`]);
  return name === forwarded && /^\d{1,5}$/.test(port) && !is_usual ? `${name}:${port}` : forwarded;
}

/**
 * The origin that a client requested, with the path prefix, or null if unknown. The front port forwards it in a header. A trusted
 * proxy forwards the scheme, and the host and path if it changes them. @param is_ours whether the request comes from the front
 * port.
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
  // The request has a loopback name because a proxy replaced the client's Host without forwarding it.
  const is_replaced = isLoopbackName(hostName(host) ?? '') && FORWARDED.some((name) => headers.has(name));
  if (is_replaced && !headers.has('x-forwarded-host')) return null;
  const prefix = withoutEndSlashes(firstOf(headers, 'x-forwarded-prefix') ?? '');
  return `${forwardedProto(headers)}://${host}${PREFIX.test(prefix) ? prefix : ''}`;
}

const isProxied = (socket_address: string | null, trusted: readonly Network[]): boolean =>
  socket_address !== null && isTrusted(socket_address, trusted);

const forwardedProto = (headers: Headers): 'http' | 'https' =>
  firstOf(headers, 'x-forwarded-proto')?.toLowerCase() === 'https' ? 'https' : 'http';

/** The value that the outermost proxy of a chain added. */
const firstOf = (headers: Headers, name: string): string | null => headers.get(name)?.split(',', 1)[0]?.trim() ?? null;
