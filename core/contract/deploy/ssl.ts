import * as v from 'valibot';
import { Empty, Timestamp } from '../fields.ts';
import { valuesOf } from '../marks.ts';
import { operation } from '../operation.ts';

const Nullable = v.nullable(Timestamp);

export const CERTIFICATE_CHOICES = {
  none: { label: 'None', help: 'There is no certificate yet.' },
  pending: { label: 'In progress', help: 'The authority is validating the domain.' },
  issued: { label: 'Valid', help: 'The certificate is in use.' },
  expiring_soon: { label: 'Expires soon', help: 'Renewal keeps failing or is turned off.' },
  expired: { label: 'Expired', help: 'Browsers and clients reject it. Request a new one.' },
  error: { label: 'Failed', help: 'The last request failed.' },
};

export const SslStatus = v.object({
  status: v.pipe(
    v.picklist(valuesOf(CERTIFICATE_CHOICES)),
    v.description('expiring_soon: less than a sixth of its lifetime is left, so renewal keeps failing or is turned off'),
  ),
  domains: v.array(v.string()),
  issuer: v.nullable(v.string()),
  valid_from: Nullable,
  valid_until: Nullable,
  days_remaining: v.nullable(v.number()),
  next_renewal_at: Nullable,
  last_error: v.nullable(v.string()),
  challenge: v.picklist(['http-01', 'dns-01']),
});
export type SslStatus = v.InferOutput<typeof SslStatus>;

export const ssl = {
  'ssl.status': operation('GET /server/ssl/status', 'session', {
    input: Empty,
    output: SslStatus,
    summary: 'Get the certificate of the UI and MCP domains, and the state of its next order',
  }),
  'ssl.issue': operation('POST /server/ssl/issue', 'session', {
    input: v.strictObject({
      force: v.optional(v.pipe(v.boolean(), v.description('Order a new one even if the current one is valid'))),
      wait: v.optional(v.pipe(v.boolean(), v.description('Wait for the order and answer 200 when it is done'))),
    }),
    query: ['wait'],
    output: v.union([SslStatus, v.object({ status: v.literal('pending') })]),
    status: 202,
    waits: true,
    summary: 'Order a certificate for the UI and MCP domains; progress is in the live log and in the status',
  }),
};
