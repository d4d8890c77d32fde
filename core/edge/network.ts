import ipaddr from 'ipaddr.js';

/** Whom limits count as one address: an IPv4 address, or the /64 that one machine of IPv6 has to itself. */
export const networkOf = (address: string): string => prefixOf(address, 32, 64);

/** Whom fair shares count as one: the /24 of an IPv4 address, or the /48 that one site of IPv6 has. */
export const siteOf = (address: string): string => prefixOf(address, 24, 48);

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
