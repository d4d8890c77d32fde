import type { ListRead } from '#core/contract/observe/usage-batch.ts';
import { clientOf, type RequestRecord, sessionDigest } from '#mcp-host/requests/request-record.ts';

/** What a session begins with, beside its calls. */
const METHODS: ReadonlySet<string> = new Set([
  'tools/list',
  'resources/list',
  'resources/templates/list',
  'prompts/list',
  'server/discover',
  'skills/list',
]);

/** What a request read that is no call; null: it is something else, or was refused. */
export function listRead(record: RequestRecord, now: number): ListRead | null {
  const { message, exchange, session, error, started } = record;
  const { method } = message;
  if (error !== null || !METHODS.has(method)) return null;
  const { token_prefix, ids } = exchange.caller;
  return {
    client: clientOf(record),
    token_prefix,
    ...(ids !== undefined && { caller: ids }),
    ...(session !== null && { session: sessionDigest(session) }),
    timestamp: now,
    method,
    duration_ms: Math.round((performance.now() - started) * 1_000) / 1_000,
  };
}
