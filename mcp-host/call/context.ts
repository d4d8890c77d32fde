import type { Claims, Identity } from '#core/query/identity.ts';
import type { Caller } from '#mcp-host/auth/caller.ts';
import type { Rights } from '#mcp-host/auth/rights.ts';
import type { Registry } from '#mcp-host/registry/registry.ts';
import type { StopSignal } from '#core/engines/shared/stop.ts';
import type { ProgressStream } from '#mcp-host/requests/progress-stream.ts';
import { RPC, RpcError } from '#mcp-host/protocol/messages.ts';
import type { RequestRecord } from '#mcp-host/requests/request-record.ts';

/**
 * One call, from the auth scheme to its line in the request log. Everything that depends on the caller (lists, permissions, cache
 * keys, parameter values, templates, limits, the log) reads the caller from here and nowhere else.
 */
export interface CallContext {
  readonly caller: Caller;
  readonly claims: Claims;
  readonly identity: Identity;
  readonly rights: Rights;
  /** Ends the call early: its caller left or cancelled it, or the host stops. */
  readonly deadline: StopSignal;
  readonly record: RequestRecord;
  /** Sends messages to the caller before the answer; null: the call has no stream. */
  readonly ask: ProgressStream | null;
  readonly registry: Registry;
}

export function createCallContext(record: RequestRecord, deadline: StopSignal, ask: ProgressStream | null): CallContext {
  const { caller, registry } = record.exchange;
  return { caller, claims: caller.claims, identity: caller.identity, rights: caller.rights, deadline, record, ask, registry };
}

/** Throws a 403 that names the missing scope, if a signed-in person would get what it lacks by requesting that scope. */
export function refuseScope({ record }: CallContext, shows: (view: Registry) => boolean): void {
  const scopes = record.exchange.beyond?.scopesFor(shows) ?? [];
  if (scopes.length === 0) return;
  const message = `This needs the scope ${scopes.join(' or ')}. Sign in again and allow it.`;
  throw new RpcError(RPC.server, message, { http_status: 403, scopes });
}
