/** Rules for the Host and Origin headers of all listeners. */

const IPV4 = /^\d{1,3}(?:\.\d{1,3}){3}$/;
const LOOPBACK = /^(?:.+\.)?localhost\.?$/;
const LOOPBACK_ADDRESS = /^(?:127(?:\.\d{1,3}){3}|\[(?:::|(?:0{1,4}:){7})0{0,3}1\])$/;

/** Whether a name, as returned by `hostName`, is a loopback name. */
export const isLoopbackName = (name: string): boolean => LOOPBACK.test(name) || LOOPBACK_ADDRESS.test(name);

/** The host name in a Host header without port, in lower case; IPv6 addresses stay in brackets. Null if it is not valid. */
export function hostName(header: string): string | null {
  const [, name, port = '0'] = /^(\[[0-9a-f:.]+\]|[^:/?#@\s[\]]+)(?::(\d{1,5}))?$/i.exec(header.trim()) ?? [];
  return name === undefined || Number(port) > 65_535 ? null : name.toLowerCase();
}

/** Allows loopback names, IP literals and the names in `allowed`, so that DNS rebinding with an attacker's name fails. */
export function isHostAllowed(header: string, allowed: ReadonlySet<string>): boolean {
  const name = hostName(header);
  return name !== null && (name.startsWith('[') || IPV4.test(name) || LOOPBACK.test(name) || allowed.has(name));
}

/** Maximum cached results. */
const REMEMBERED = 100;

/** `isHostAllowed` with a cache, because a client sends the same Host in all its requests. */
export function createHostCheck(names: () => ReadonlySet<string>): (header: string) => boolean {
  let allowed = names();
  const remembered = new Map<string, boolean>();
  return (header) => {
    const current = names();
    if (current !== allowed || remembered.size >= REMEMBERED) remembered.clear();
    allowed = current;
    const known = remembered.get(header);
    if (known !== undefined) return known;
    const is_allowed = isHostAllowed(header, current);
    remembered.set(header, is_allowed);
    return is_allowed;
  };
}

/**
 * Whether this host served the page. @param is_https whether the request came over HTTPS. A page loaded without it could come
 * from anyone on the network.
 */
export function isSameOrigin(origin: string, host: string, is_https: boolean): boolean {
  if (!URL.canParse(origin)) return false;
  const page = new URL(origin);
  return page.host === host.toLowerCase() && (page.protocol === 'https:' || !is_https);
}

/** Why an origin is refused, and how to allow it. @param isOurs whether a name is one of this installation. */
export function originRefusal(origin: string, isOurs: (name: string) => boolean): string {
  if (!URL.canParse(origin))
    return 'Requests of pages without an origin of their own, such as files and sandboxed frames, are not accepted.';
  if (isOurs(new URL(origin).hostname)) return PROXY_REPLACES_HOST;
  return 'Requests from this origin are not accepted. Add it to cors_origins in the settings; MCP hosts follow with the next deploy.';
}
const PROXY_REPLACES_HOST =
  'A proxy handed this request on under another host name or scheme. Have it keep Host (Apache: ProxyPreserveHost On), or send X-Forwarded-Host and X-Forwarded-Proto, and list its address in SVC_TRUSTED_PROXIES.';

/**
 * Allows a missing origin, the same host, and listed origins (exact match). `null` and invalid URLs are refused even with a
 * wildcard.
 */
export function isOriginAllowed(
  origin: string | null,
  host: string,
  is_https: boolean,
  cors_origins: readonly string[],
): boolean {
  if (origin === null) return true;
  if (!URL.canParse(origin)) return false;
  return isSameOrigin(origin, host, is_https) || cors_origins.includes(origin) || cors_origins.includes('*');
}
