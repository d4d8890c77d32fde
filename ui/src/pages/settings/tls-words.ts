import type { SslStatus } from '#core/contract/deploy/ssl.ts';
import type { Tone } from '#ui/src/components/badge.tsx';
import { plural } from '#ui/src/kernel/words.ts';

export const TLS = {
  use: 'HTTPS',
  use_lead: 'Certificates of Let’s Encrypt or another ACME authority for the front port.',
  enabled: 'Serve HTTPS',
  enabled_hint: 'The domain has to lead to this machine.',
  ui_domain: 'Domain of this interface',
  mcp_domain: 'Domain of the MCP server',
  mcp_domain_hint: 'Empty: the same as the interface.',
  proxy: 'MCP on the front port',
  proxy_hint: 'The front port serves /mcp as well, so clients need one address and one certificate.',
  challenge: 'Proof of the domain',
  challenge_lead: 'How the authority sees that the domain is yours.',
  challenges: [
    { value: 'http-01', label: 'Over HTTP', hint: 'Port 80 of the domain has to reach this server.' },
    { value: 'dns-01', label: 'Over DNS', hint: 'A record is written at your DNS provider; no port has to be open.' },
  ],
  email: 'Contact address',
  email_hint: 'The authority writes there before a certificate ends.',
  provider: 'DNS provider',
  no_provider: 'Choose a provider',
  providers: [
    { value: 'cloudflare', label: 'Cloudflare' },
    { value: 'route53', label: 'Amazon Route 53' },
  ],
  renew: 'Renew by itself',
  renew_hint: 'In good time before the end.',
  certificate: 'Certificate',
  certificate_lead: 'Ordering takes some seconds; the steps are in the log below.',
  state: 'State',
  domains: 'Domains',
  issuer: 'Issued by',
  valid: 'Valid',
  until: (from: string, until: string) => `${from} to ${until}`,
  left: (days: number) => `${plural(days, 'day')} left`,
  next: 'Next renewal',
  order: 'Order a certificate',
  renew_now: 'Renew now',
  ordered: 'The order is under way.',
  save_first: 'Save the settings first; the order uses what is stored.',
  off: 'HTTPS is switched off. Switch it on and save, then order.',
  log: 'Steps',
  log_none: 'Nothing was ordered since this page was opened.',
} as const;

export const STATUS: Readonly<Record<SslStatus['status'], { label: string; tone: Tone; about: string }>> = {
  none: { label: 'None', tone: 'plain', about: 'There is no certificate yet.' },
  pending: { label: 'Under way', tone: 'water', about: 'The authority is looking for the proof of the domain.' },
  issued: { label: 'Valid', tone: 'good', about: 'The certificate is in use.' },
  expiring_soon: { label: 'Ends soon', tone: 'brass', about: 'Renewal has failed for long, or is switched off.' },
  expired: { label: 'Expired', tone: 'bad', about: 'Browsers and clients refuse it. Order a new one.' },
  error: { label: 'Failed', tone: 'bad', about: 'The last order failed.' },
};
