import type { Members } from '#core/lib/view/table.ts';
import { createMcpClient, ERAS, type Refusal } from './mcp-client.ts';
import type { Send } from '#ui/src/kernel/data/session-gate.ts';
import { type Result, toResult } from './result.ts';

/** A call of a deployed tool, as the person who is signed in, and what came of it. */
export interface CalledTool {
  readonly values: Members;
  readonly at: string;
  readonly ms: number;
  readonly result: Result | undefined;
  readonly refusal: Refusal | undefined;
}

export async function callOnce(send: Send, name: string, values: Members, signal: AbortSignal): Promise<CalledTool> {
  const client = createMcpClient({ send, era: ERAS[0], token: () => '', onExchange: () => undefined });
  const at = new Date().toISOString();
  const started = performance.now();
  const answer = await client.request('tools/call', { name, arguments: values }, signal);
  const sent = { values, at, ms: performance.now() - started };
  return answer.ok
    ? { ...sent, result: toResult(answer.result), refusal: undefined }
    : { ...sent, result: undefined, refusal: answer.refusal };
}
