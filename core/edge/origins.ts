/** Header rules in front of every listener of ours: Host and Origin (contract section 0). */

const IPV4 = /^\d{1,3}(?:\.\d{1,3}){3}$/;
const LOOPBACK = /^(?:.+\.)?localhost\.?$/;
const LOOPBACK_ADDRESS = /^(?:127(?:\.\d{1,3}){3}|\[(?:::|(?:0{1,4}:){7})0{0,3}1\])$/;

/** A name of this machine, in the form of `hostName`. */
export const isLoopbackName = (name: string): boolean => LOOPBACK.test(name) || LOOPBACK_ADDRESS.test(name);

/** Name of a Host header without port, in lower case; brackets of IPv6 stay. Null when it is none. */
export function hostName(header: string): string | null {
  const [, name, port = '0'] = /^(\[[0-9a-f:.]+\]|[^:/?#@\s[\]]+)(?::(\d{1,5}))?$/i.exec(header.trim()) ?? [];
  return name === undefined || Number(port) > 65_535 ? null : name.toLowerCase();
}

/** Loopback names, IP literals and the allowed names: a name that an attacker points here by DNS is none of them. */
export function isHostAllowed(header: string, allowed: ReadonlySet<string>): boolean {
  const name = hostName(header);
  return name !== null && (name.startsWith('[') || IPV4.test(name) || LOOPBACK.test(name) || allowed.has(name));
}

/** Hosts whose answer is remembered. */
const REMEMBERED = 100;

/** The same for every request: a client names the same Host in all of them. */
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
 * The origin of a page that this very host served. @param is_https this request came over HTTPS: a page that came without it may
 * be anybody's between the two machines.
 */
export function isSameOrigin(origin: string, host: string, is_https: boolean): boolean {
  if (!URL.canParse(origin)) return false;
  const page = new URL(origin);
  return page.host === host.toLowerCase() && (page.protocol === 'https:' || !is_https);
}

/** Why a page is refused, and what helps. @param isOurs whether a name is one that clients reach us by. */
export function originRefusal(origin: string, isOurs: (name: string) => boolean): string {
  if (!URL.canParse(origin))
    return 'Requests of pages without an origin of their own, such as files and sandboxed frames, are not accepted.';
  if (isOurs(new URL(origin).hostname)) return PROXY_REPLACES_HOST;
  return 'Requests from this origin are not accepted. Add it to cors_origins in the settings; MCP hosts follow with the next deploy.';
}
const PROXY_REPLACES_HOST =
  'A proxy handed this request on under another host name or scheme. Have it keep Host (Apache: ProxyPreserveHost On), or send X-Forwarded-Host and X-Forwarded-Proto, and list its address in SVC_TRUSTED_PROXIES.';

/** Absent, the same host, or listed exactly. `null` and what is no URL are refused even with a wildcard. */
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
