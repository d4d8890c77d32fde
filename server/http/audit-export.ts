import type { Hono } from 'hono';
import * as v from 'valibot';
import { exportLines } from '#core/audit/export.ts';
import { chainNow } from '#core/audit/writer.ts';
import { auditFilters, ExportFormat } from '#core/contract/observe/audit.ts';
import type { ControlPlane } from '#core/control-plane/control-plane.ts';
import { isAdministrator, requireRole } from '#core/context/roles.ts';
import { invalidField } from '#core/errors.ts';
import { readValue } from '#core/process/read-value.ts';
import { toInvalid } from '#core/process/issues.ts';
import { auditOf, enterAudit } from '#core/records/audit-log.ts';
import { bearerOf, callerAddress, refuseOthers } from '#server/request/bearer.ts';
import type { ServerEnv } from '#server/request/server-env.ts';
import { sessionActor } from '#server/request/session.ts';

export const AUDIT_EXPORT_PATH = '/api/v1/audit/export';

const Query = v.strictObject({ format: ExportFormat, ...auditFilters });
const FIELDS = Object.keys(Query.entries);

/** The audit log as one streamed file, a JSON document per line. It is no operation, whose answers are read as a whole. */
export function addAuditExport(app: ControlPlane, router: Hono<ServerEnv>): void {
  router.get(AUDIT_EXPORT_PATH, async (c) => {
    const actor = bearerOf(c) === null ? await sessionActor(app, c) : null;
    if (actor === null) return refuseOthers(app, c, 'Only a signed-in administrator can export the audit log, not a token.');
    if (!isAdministrator(actor)) requireRole(actor, 'admin');
    const query = readValue(Query, c.req.query());
    if (!query.success) throw toInvalid(query.issues, FIELDS);
    const unknown = Object.keys(c.req.query()).find((name) => !FIELDS.includes(name));
    if (unknown !== undefined) throw invalidField(unknown, `${unknown} is not a query parameter of this address.`);
    const { format, ...filter } = query.output;
    const request = { app, actor, ip: callerAddress(app, c), user_agent: null, request_id: c.get('request_id') };
    const draft = auditOf(request, { kind: 'export', outcome: 'ok', detail: { operation: 'audit.export', format, ...filter } });
    await app.store.write((tx) => enterAudit(app, tx, [draft]));
    await chainNow(app);
    return new Response(streamOf(exportLines(app, format, filter)), {
      headers: {
        'content-type': 'application/x-ndjson',
        'content-disposition': `attachment; filename="audit.${format === 'ocsf' ? 'ocsf.' : ''}jsonl"`,
        'cache-control': 'no-store',
      },
    });
  });
}

function streamOf(lines: AsyncGenerator<string>): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await lines.next();
      if (done === true) controller.close();
      else controller.enqueue(encoder.encode(value));
    },
    cancel: async () => void (await lines.return(undefined)),
  });
}
