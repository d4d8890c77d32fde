import { networkInterfaces } from 'node:os';
import ipaddr from 'ipaddr.js';

/** `never`: link-local and metadata services, refused whatever is allowed. */
export type AddressClass = 'public' | 'private' | 'never';

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** Metadata services of clouds: link-local ranges, and the addresses that some clouds chose outside of them. */
const NEVER = [
  '169.254.0.0/16',
  'fe80::/10',
  '100.100.100.200/32',
  '168.63.129.16/32',
  '192.0.0.192/32',
  'fd00:ec2::/32',
  'fd20:ce::254/128',
].map((range) => ipaddr.parseCIDR(range));

/** Assigned global unicast. No registry assigns the rest of the IPv6 space (RFC 4291 section 2.4). */
const GLOBAL_UNICAST = ipaddr.parseCIDR('2000::/3');

/** IPv6 ranges that carry an IPv4 address, and the byte at which it begins. */
const CARRIERS: readonly { readonly range: [Address, number]; readonly at: number; readonly inverted?: true }[] = [
  { range: ipaddr.parseCIDR('::/96'), at: 12 },
  { range: ipaddr.parseCIDR('::ffff:0:0/96'), at: 12 },
  { range: ipaddr.parseCIDR('::ffff:0:0:0/96'), at: 12 },
  { range: ipaddr.parseCIDR('64:ff9b::/96'), at: 12 },
  { range: ipaddr.parseCIDR('64:ff9b:1::/48'), at: 12 },
  { range: ipaddr.parseCIDR('2002::/16'), at: 2 },
  { range: ipaddr.parseCIDR('2001::/32'), at: 12, inverted: true },
];

/**
 * Ranges through which a public IPv4 address is reached over the public network. Addresses in the other ranges never count as
 * public.
 */
const PUBLIC_CARRIERS = ['::ffff:0:0/96', '64:ff9b::/96', '2002::/16'].map((range) => ipaddr.parseCIDR(range));

/** Classifies a resolved address in any notation. Text that is not an address is `never`. */
export function classifyAddress(text: string): AddressClass {
  const address = parse(text);
  if (!address) return 'never';
  const inner = carried(address);
  if (inRanges(address, NEVER) || (inner && inRanges(inner, NEVER))) return 'never';
  if (inner && !isSpecial(address)) return isPublic(inner) && inRanges(address, PUBLIC_CARRIERS) ? 'public' : 'private';
  return isPublic(address) ? 'public' : 'private';
}

/** Returns the same text for addresses that reach the same machine; an address of this machine is `self`. */
export function canonicalAddress(text: string): string {
  const address = parse(text);
  if (!address) return text;
  const inner = isSpecial(address) ? address : (carried(address) ?? address);
  const range = inner.range();
  if (range === 'loopback' || range === 'unspecified') return 'self';
  const spelled = inner.toNormalizedString();
  return localAddresses().has(spelled) ? 'self' : spelled;
}

function localAddresses(): Set<string> {
  const listed = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  return new Set(listed.map(({ address }) => parse(address)?.toNormalizedString() ?? address));
}

/** The zone of an address (`fe80::1%eth0`) names a network interface and is ignored. */
function parse(text: string): Address | undefined {
  const bare = text.split('%', 1)[0] ?? '';
  return ipaddr.isValid(bare) ? ipaddr.parse(bare) : undefined;
}

/** `::` and `::1` lie in the range of IPv4-compatible addresses but carry none. */
function isSpecial(address: Address): boolean {
  return address.kind() === 'ipv6' && ['unspecified', 'loopback'].includes(address.range());
}

function carried(address: Address): ipaddr.IPv4 | undefined {
  const carrier = CARRIERS.find(({ range }) => inRanges(address, [range]));
  if (!carrier) return undefined;
  const bytes = address.toByteArray().slice(carrier.at, carrier.at + 4);
  return new ipaddr.IPv4(carrier.inverted ? bytes.map((byte) => byte ^ 0xff) : bytes);
}

function isPublic(address: Address): boolean {
  if (address.range() !== 'unicast') return false;
  return address.kind() === 'ipv4' || inRanges(address, [GLOBAL_UNICAST]);
}

function inRanges(address: Address, ranges: readonly [Address, number][]): boolean {
  return ranges.some((range) => range[0].kind() === address.kind() && address.match(range));
}
