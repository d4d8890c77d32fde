import * as v from 'valibot';
import { integerBetween, textBetween } from '../fields.ts';
import { brief } from '../marks.ts';
import { AUDIT_KINDS, type AuditKindName } from './audit-kinds.ts';

const ofEach = <T>(value: T) => Object.fromEntries(AUDIT_KINDS.map((kind) => [kind, value])) as Record<AuditKindName, T>;

const AUDIT_DAYS = 365;
export const DEFAULT_AUDIT_DAYS = ofEach(AUDIT_DAYS);
const Days = integerBetween(1, 3_650);
export const AuditDays = brief(v.object(ofEach(Days)));
export type AuditDays = v.InferOutput<typeof AuditDays>;
/** A missing kind stays unchanged. */
export const AuditDaysPatch = v.strictObject(ofEach(v.optional(Days)));

export const SYSLOG_FORMAT_CHOICES = {
  json: { label: 'JSON', help: 'The entry as the API returns it.' },
  ocsf: { label: 'OCSF', help: 'API Activity of the Open Cybersecurity Schema Framework.' },
};

export const AuditSyslog = brief(
  v.strictObject({
    host: v.pipe(textBetween(1, 253), v.regex(/^[A-Za-z0-9._:-]+$/, 'must be a host name or an IP address, without a port')),
    port: v.optional(integerBetween(1, 65_535), 6_514),
    tls: v.optional(v.boolean(), true),
    format: v.optional(v.picklist(['json', 'ocsf']), 'json'),
    ca: v.pipe(
      v.optional(v.nullable(textBetween(1, 100_000)), null),
      v.description('Certificate authority of the server in PEM; null: a public one'),
    ),
  }),
);
export type AuditSyslog = v.InferOutput<typeof AuditSyslog>;
