import { hostname } from 'node:os';
import type { AuditEntry, AuditHead } from '#core/contract/observe/audit.ts';
import type { AuditKindName } from '#core/contract/settings/audit-kinds.ts';
import { PRODUCT_NAME, PRODUCT_VERSION } from '#core/process/version.ts';

/** API Activity of OCSF 1.7 (https://schema.ocsf.io/classes/api_activity). */
const CLASS = 6_003;
const CATEGORY = 6;
const ACTIVITIES: Readonly<Record<AuditKindName, number>> = {
  change: 3,
  deploy: 3,
  call: 2,
  refusal: 99,
  sign_in: 99,
  approval: 3,
  export: 2,
  setting: 3,
};
const OF_ACTIONS: Readonly<Record<string, number>> = { create: 1, delete: 4 };
const SEVERITY = { informational: 1, medium: 3 };
const STATUS = { success: 1, failure: 2 };

/** An entry as an event of OCSF. Fields that the schema lacks are in `unmapped`, so that nothing is lost. */
export function toOcsf(entry: AuditEntry): Record<string, unknown> {
  const { seq, at, kind, actor, entity, tool, outcome, ip, request_id, detail, previous, hash } = entry;
  const activity_id = OF_ACTIONS[String(detail['action'])] ?? ACTIVITIES[kind];
  const is_ok = outcome === 'ok';
  const word = ['operation', 'action', 'step'].map((name) => detail[name]).find((value) => typeof value === 'string');
  const calls = typeof detail['calls'] === 'number' ? detail['calls'] : 1;
  const first_at = typeof detail['first_at'] === 'string' ? detail['first_at'] : at;
  return {
    class_uid: CLASS,
    category_uid: CATEGORY,
    activity_id,
    type_uid: CLASS * 100 + activity_id,
    ...(activity_id === 99 && { activity_name: kind }),
    time: Date.parse(at),
    start_time: Date.parse(first_at),
    end_time: Date.parse(at),
    count: calls,
    severity_id: kind === 'refusal' || outcome === 'refused' ? SEVERITY.medium : SEVERITY.informational,
    status_id: is_ok ? STATUS.success : STATUS.failure,
    status_code: outcome,
    metadata: {
      version: '1.7.0',
      uid: hash,
      sequence: seq,
      product: { name: PRODUCT_NAME, vendor_name: PRODUCT_NAME, version: PRODUCT_VERSION },
      log_name: 'audit',
    },
    actor: { user: { name: actor.name ?? actor.type, ...(actor.id !== null && { uid: actor.id }), type: actor.type } },
    api: {
      operation: tool ?? word ?? kind,
      ...(request_id !== null && { request: { uid: request_id } }),
      service: { name: PRODUCT_NAME },
    },
    src_endpoint: ip === null ? { name: 'unknown' } : { ip },
    ...(entity !== undefined && {
      resources: [
        { type: entity.type, ...(entity.id !== null && { uid: entity.id }), ...(entity.name !== null && { name: entity.name }) },
      ],
    }),
    unmapped: { kind, detail, previous, hash },
  };
}

export const FORMATS = { json: (entry: AuditEntry): unknown => entry, ocsf: toOcsf };

/** Facility 13 (log audit), severity 6 (informational). */
const PRIORITY = 13 * 8 + 6;
/** The enterprise number that RFC 5612 reserves for examples: Sluice has none. */
const ENTERPRISE = 32_473;

/** A message of RFC 5424, framed by its length in bytes (RFC 6587 section 3.4.1, which RFC 5425 requires). */
export function syslogFrame(id: 'audit' | 'audit_head', at: string, seq: number, content: unknown): Buffer {
  const machine =
    hostname()
      .replaceAll(/[^\x21-\x7e]/g, '')
      .slice(0, 255) || '-';
  const head = `<${PRIORITY}>1 ${at} ${machine} sluice ${process.pid} ${id} [sluice@${ENTERPRISE} seq="${seq}"] `;
  // The byte order mark says that the message is UTF-8.
  const message = Buffer.from(`${head}\ufeff${JSON.stringify(content)}`);
  return Buffer.concat([Buffer.from(`${message.length} `), message]);
}

const SEVERITY_INFO = 9;
const nano = (at: string): string => `${Date.parse(at)}000000`;
const text = (key: string, value: string) => ({ key, value: { stringValue: value } });

/** A request of OTLP/HTTP with log records, in JSON. */
export function otlpLogs(entries: readonly AuditEntry[], heads: readonly AuditHead[]): unknown {
  const record = (name: string, at: string, body: unknown, attributes: unknown[]) => ({
    timeUnixNano: nano(at),
    observedTimeUnixNano: nano(at),
    severityNumber: SEVERITY_INFO,
    severityText: 'INFO',
    eventName: name,
    body: { stringValue: JSON.stringify(body) },
    attributes: [text('event.name', name), ...attributes],
  });
  const logRecords = [
    ...entries.map((entry) =>
      record('sluice.audit', entry.at, entry, [
        text('sluice.audit.kind', entry.kind),
        text('sluice.audit.outcome', entry.outcome),
        ...(entry.actor.name === null ? [] : [text('enduser.id', entry.actor.name)]),
        ...(entry.tool === undefined ? [] : [text('gen_ai.tool.name', entry.tool)]),
      ]),
    ),
    ...heads.map((head) => record('sluice.audit_head', head.at, head, [])),
  ];
  const resource = { attributes: [text('service.name', 'sluice'), text('service.version', PRODUCT_VERSION)] };
  return { resourceLogs: [{ resource, scopeLogs: [{ scope: { name: 'sluice.audit' }, logRecords }] }] };
}
