import type { ErrorCode } from '#core/errors.ts';
import type { RunTiming } from '#core/lib/call/query.ts';
import type { FrozenConnection, FrozenQuery } from '#snapshots/format.ts';
import type { Era } from '#mcp-host/protocol/protocol-version.ts';
import type { Exchange } from '#mcp-host/protocol/dispatch.ts';
import type { RpcMessage } from '#mcp-host/protocol/messages.ts';
import type { Session } from '#mcp-host/protocol/sessions.ts';

/** What figures and traces are told of one request: one object, filled while the request runs. */
export interface Watch extends RunTiming {
  readonly message: RpcMessage;
  readonly exchange: Exchange;
  readonly era: Era;
  readonly session: Session | null;
  /** Of `performance.now()`. */
  readonly started: number;
  /** The query that it asked for, once that is known. */
  query: FrozenQuery | null;
  connection: FrozenConnection | null;
  /** Why the call failed inside its tool or resource. */
  fault: ErrorCode | null;
  /** Arguments that its tool or resource does not declare. */
  undeclared: number;
  /** What the request was refused or ended with. */
  error: unknown;
}

export const createWatch = (message: RpcMessage, exchange: Exchange, era: Era, session: Session | null): Watch => ({
  message,
  exchange,
  era,
  session,
  started: performance.now(),
  wait_ms: 0,
  query_from: 0,
  query_to: 0,
  query: null,
  connection: null,
  fault: null,
  undeclared: 0,
  error: null,
});

/** Is handed every request when it has ended. */
export type Observe = (watch: Watch) => void;
