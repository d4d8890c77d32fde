import ipaddr from 'ipaddr.js';
import type { Network } from '#core/process/env/settings.ts';

/**
 * The address of the caller: that of the socket, or, when the socket is a trusted proxy's, the last address in
 * `X-Forwarded-For` that no trusted proxy has.
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

/** What the caller speaks, as a trusted proxy in front of us says; null when none does. */
export function forwardedScheme(
  socket_address: string | null,
  forwarded: string | null,
  trusted: readonly Network[],
): string | null {
  if (forwarded === null || socket_address === null || !isTrusted(socket_address, trusted)) return null;
  return forwarded.split(',', 1)[0]?.trim().toLowerCase() ?? null;
}

/** Whether an address is that of a proxy of `SVC_TRUSTED_PROXIES`. */
export function isTrusted(address: string, trusted: readonly Network[]): boolean {
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.process(address);
  return trusted.some(
    ([range, bits]) => range.kind() === parsed.kind() && parsed.match([range, bits] as [typeof parsed, number]),
  );
}

/** An IPv4-mapped address as IPv4. */
const plain = (address: string | null): string | null =>
  address !== null && ipaddr.isValid(address) ? ipaddr.process(address).toString() : address;
