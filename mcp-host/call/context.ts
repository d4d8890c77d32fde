import type { Claims, Identity } from '#core/query/identity.ts';
import type { Caller } from '#mcp-host/auth/caller.ts';
import type { Rights } from '#mcp-host/auth/rights.ts';
import type { Registry } from '#mcp-host/registry/registry.ts';
import type { StopSignal } from '#core/engines/shared/stop.ts';
import type { ProgressStream } from '#mcp-host/requests/progress-stream.ts';
import type { RequestRecord } from '#mcp-host/requests/request-record.ts';

/**
 * One call, from the auth scheme to its line in the request log. It is built once, and what depends on the caller (what is listed,
 * what may be called, keys of the cache, values of parameters, templates, limits, the log) reads the caller here and nowhere else.
 */
export interface CallContext {
  readonly caller: Caller;
  readonly claims: Claims;
  readonly identity: Identity;
  readonly rights: Rights;
  /** Ends the call early: its caller left or cancelled it, or the host stops. */
  readonly deadline: StopSignal;
  readonly record: RequestRecord;
  /** The way to speak with the caller before the answer; null: there is none. */
  readonly ask: ProgressStream | null;
  /** What is served to the caller. */
  readonly registry: Registry;
}

export function createCallContext(record: RequestRecord, deadline: StopSignal, ask: ProgressStream | null): CallContext {
  const { caller, registry } = record.exchange;
  return { caller, claims: caller.claims, identity: caller.identity, rights: caller.rights, deadline, record, ask, registry };
}
