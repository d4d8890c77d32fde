import type { Claims, Identity } from '#core/query/identity.ts';
import type { Pseudonym } from '#core/query/masks.ts';
import type { Caller } from '#mcp-host/auth/caller.ts';
import type { Rights } from '#mcp-host/auth/rights.ts';
import type { Samples } from '#mcp-host/replay/samples.ts';
import type { RateLimits } from '#mcp-host/limits/rate-limit.ts';
import type { Usage } from '#mcp-host/observe/usage.ts';
import type { Registry } from '#mcp-host/swap/registry.ts';
import type { Sources } from '#mcp-host/swap/sources.ts';
import type { StopSignal } from '#core/engines/shared/stop.ts';
import type { Log } from '#core/process/log.ts';
import type { AppViews } from '#mcp-host/apps/views.ts';
import type { Confirmations } from './confirmation/asked-call.ts';
import type { ResultCache } from './cache.ts';
import type { PageCursors } from './page-cursors.ts';
import type { ProgressStream } from './progress-stream.ts';
import type { RequestRecord } from './request-record.ts';

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

/** What calls need of their host, the same for all of them. */
export interface CallServices {
  readonly sources: Sources;
  readonly usage: Usage;
  readonly cache: ResultCache;
  readonly limits: RateLimits;
  /** Calls that are kept for replays. */
  readonly samples: Pick<Samples, 'keep'>;
  readonly confirmations: Confirmations;
  /** For clients that draw results. */
  readonly app_views: AppViews;
  readonly pages: PageCursors;
  /** For masks that hash. */
  readonly pseudonym: Pseudonym;
  readonly log: Log;
  readonly now: () => number;
}

/** Thrown when the caller itself gave up: nothing is answered. */
export class CallerGone extends Error {
  override readonly name = 'CallerGone';
}
