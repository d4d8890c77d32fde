import ipaddr from 'ipaddr.js';
import type { Network } from '#core/process/env/settings.ts';

/** Groups addresses for limits: an IPv4 address, or the IPv6 /64 that a single machine has. */
export const networkOf = (address: string): string => prefixOf(address, 32, 64);

/** Groups addresses for fair shares: the IPv4 /24, or the IPv6 /48 that a single site has. */
export const siteOf = (address: string): string => prefixOf(address, 24, 48);

/**
 * The address of the caller: the socket's address or, if the socket belongs to a trusted proxy, the last address in
 * `X-Forwarded-For` that is not a trusted proxy's.
 */
export function clientAddress(
  socket_address: string | null,
  forwarded_for: string | null,
  trusted: readonly Network[],
): string | null {
  if (socket_address === null || forwarded_for === null || !isTrusted(socket_address, trusted)) return plain(socket_address);
  const chain = forwarded_for.split(',').map((item) => withoutPort(item.trim()));
  for (let index = chain.length - 1; index >= 0; index--) {
    const address = chain[index] ?? '';
    if (!ipaddr.isValid(address)) return plain(socket_address);
    if (!isTrusted(address, trusted)) return plain(address);
  }
  return plain(chain[0] ?? socket_address);
}

/** Some proxies add the port: `203.0.113.9:5555`, `[2001:db8::1]:99`. */
function withoutPort(item: string): string {
  const [, bracketed, dotted] = /^(?:\[([^\]]+)\]|(\d{1,3}(?:\.\d{1,3}){3}))(?::\d{1,5})?$/.exec(item) ?? [];
  return bracketed ?? dotted ?? item;
}

/** The scheme that the caller used, as reported by a trusted proxy; null without one. */
export function forwardedScheme(
  socket_address: string | null,
  forwarded: string | null,
  trusted: readonly Network[],
): string | null {
  if (forwarded === null || socket_address === null || !isTrusted(socket_address, trusted)) return null;
  return forwarded.split(',', 1)[0]?.trim().toLowerCase() ?? null;
}

/** Whether an address belongs to a proxy in `SVC_TRUSTED_PROXIES`. */
export function isTrusted(address: string, trusted: readonly Network[]): boolean {
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.process(address);
  return trusted.some(
    ([range, bits]) => range.kind() === parsed.kind() && parsed.match([range, bits] as [typeof parsed, number]),
  );
}

/** Converts an IPv4-mapped address to IPv4. */
const plain = (address: string | null): string | null =>
  address !== null && ipaddr.isValid(address) ? ipaddr.process(address).toString() : address;

function prefixOf(address: string, v4_bits: number, v6_bits: number): string {
  if (!ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  if (parsed instanceof ipaddr.IPv6) {
    const parts = parsed.parts.slice(0, v6_bits / 16).map((part) => part.toString(16));
    return `${parts.join(':')}::/${v6_bits}`;
  }
  const octets = parsed.octets.slice(0, v4_bits / 8).join('.');
  return v4_bits === 32 ? octets : `${octets}.0/${v4_bits}`;
}
