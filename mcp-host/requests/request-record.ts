import { declaredIn, drawsViews } from '#mcp-host/protocol/client-capabilities.ts';
import type { Confirmation } from '#core/contract/observe/calls.ts';
import type { ErrorCode } from '#core/errors.ts';
import type { UndeclaredRecord } from '#core/query/arguments.ts';
import type { RunRecord } from '#core/query/query.ts';
import type { FrozenConnection } from '#snapshots/format/format.ts';
import type { FrozenQuery } from '#core/query/frozen-query.ts';
import type { ProtocolVersion } from '#mcp-host/protocol/protocol-version.ts';
import type { Caller } from '#mcp-host/auth/caller.ts';
import type { Registry } from '#mcp-host/registry/registry.ts';
import type { Endpoint } from '#core/edge/mcp-endpoint.ts';
import type { Peer } from '#mcp-host/runtime/types.ts';
import { HEADERLESS_VERSION, isMembers, MODERN_VERSION, type RpcMessage } from '#mcp-host/protocol/messages.ts';
import type { Session } from './sessions.ts';
import type { UsageItem } from './usage-item.ts';
import { createHash } from 'node:crypto';

/** One HTTP exchange of an authenticated caller. */
export interface Exchange {
  readonly request: Request;
  /** The caller's view of the endpoint. A deploy does not change it. */
  readonly registry: Registry;
  readonly caller: Caller;
  readonly endpoint: Endpoint;
  /** The caller's address, read only when it is needed. */
  readonly address: () => string;
  readonly peer: Peer;
  /** The origin that the client requested, for addresses in answers; absent: the client cannot open addresses of this host. */
  readonly origin?: () => string | null;
  /** Decides the side of a canary, if it is not the credential, the session or the address of the request. */
  readonly key?: string;
  /** While a canary runs: the registry for the side that a key decides. */
  readonly forKey?: ((key: string) => Registry) | undefined;
  /** For the log; absent on standard input. */
  readonly request_id?: string;
  /** Says why only answers to requests of the host are accepted; absent: every message is accepted. */
  readonly answers_only?: string | undefined;
  /** The protocol of the message, if its headers were already compared with it. */
  readonly protocol?: ProtocolVersion | undefined;
  /** Whether the client accepts gzip; absent: it does not. */
  readonly accepts_gzip?: () => boolean;
  /** Scopes that a signed-in person could request in addition; absent: none. */
  readonly beyond?: GrantableScopes | undefined;
}

/** Scopes that a person lacks, but would be granted. */
export interface GrantableScopes {
  /** The name of a toolset with a definition that the predicate looks for, or none. */
  scopesFor(shows: (view: Registry) => boolean): readonly string[];
  /** The `WWW-Authenticate` header that requests scopes besides those that the caller has (RFC 6750 section 3.1). */
  challenge(scopes: readonly string[]): string;
}

/** Whether the client draws results. In the stateless revision every request declares it; in others the session does. */
export const isForViews = ({ protocol, message, session }: RequestRecord): boolean =>
  protocol.modern ? drawsViews(declaredIn(message.params)) : session?.draws_views === true;

/** The facts of one request for the request log, metrics and traces, filled in while the request runs. */
export interface RequestRecord extends RunRecord, UndeclaredRecord {
  readonly message: RpcMessage;
  readonly exchange: Exchange;
  readonly protocol: ProtocolVersion;
  readonly session: Session | null;
  /** Time of `performance.now()`. */
  readonly started: number;
  /** Whether the protocol has the method. Otherwise its text comes from the caller. */
  known: boolean;
  /** Time spent waiting for a person, which does not count as duration of the call. */
  person_wait_ms: number;
  /** Whether the call waits for a person now. */
  waits_for_person: boolean;
  /** The requested query, once it is known. */
  query: (FrozenQuery & { readonly name: string }) | null;
  connection: FrozenConnection | null;
  rows: number;
  /** Characters of the result. */
  bytes: number;
  /** Whether the result ended at a limit. */
  truncated: boolean;
  /** Why the call failed inside its tool or resource. */
  fault: ErrorCode | null;
  /** The outcome of the question that a guarded tool asks before it writes; null: there was no question. */
  confirmation: Confirmation | null;
  refuses_undeclared: boolean;
  /** The error that refused or ended the request. */
  error: unknown;
  /** Its entry in the request log, once there is one. */
  logged: UsageItem | null;
}

const NONE: readonly string[] = [];

export const createRequestRecord = (
  message: RpcMessage,
  exchange: Exchange,
  protocol: ProtocolVersion,
  session: Session | null,
): RequestRecord => ({
  message,
  exchange,
  protocol,
  session,
  started: performance.now(),
  known: true,
  person_wait_ms: 0,
  waits_for_person: false,
  wait_ms: 0,
  query_from: 0,
  query_to: 0,
  committed: false,
  query: null,
  connection: null,
  rows: 0,
  bytes: 0,
  truncated: false,
  fault: null,
  confirmation: null,
  refuses_undeclared: false,
  undeclared: 0,
  ignored: NONE,
  error: null,
  logged: null,
});

/** Waits for the answer of a person. */
export async function whileWaiting<T>(record: RequestRecord, answer: Promise<T>): Promise<T> {
  const from = performance.now();
  record.waits_for_person = true;
  try {
    return await answer;
  } finally {
    record.waits_for_person = false;
    record.person_wait_ms += performance.now() - from;
  }
}

/** In ms, without the time that a person took to answer. */
export const durationOf = ({ started, person_wait_ms }: RequestRecord): number => performance.now() - started - person_wait_ms;

/** The method in labels and span names; unknown ones share a label, to bound their number. */
export const methodLabel = ({ message, known }: Pick<RequestRecord, 'message' | 'known'>): string =>
  known ? message.method : '_other';

/** Name and version, as the client states them. */
export const clientOf = ({ protocol, session }: RequestRecord): string =>
  protocol.modern ? protocol.client : (session?.client ?? '');

/** The revision of the protocol that the client uses. */
export const revisionOf = ({ protocol, session }: Pick<RequestRecord, 'protocol' | 'session'>): string =>
  protocol.modern ? MODERN_VERSION : (session?.version ?? protocol.version ?? HEADERLESS_VERSION);

const digests = new WeakMap<Session, string>();

/** A digest of the session id for logs. The id is not recorded, because anyone who reads it could use the session. */
export function sessionDigest(session: Session): string {
  const known = digests.get(session);
  if (known !== undefined) return known;
  const digest = createHash('sha256').update(session.id).digest('hex').slice(0, 16);
  digests.set(session, digest);
  return digest;
}

const TRACE_ID = /^[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-/;

/** The trace id that the caller states for the request (W3C Trace Context, SEP-414). */
export function traceIdOf({ message, exchange }: RequestRecord): string | null {
  const meta = message.params['_meta'];
  const given = (isMembers(meta) ? meta['traceparent'] : undefined) ?? exchange.request.headers.get('traceparent');
  const id = typeof given === 'string' ? TRACE_ID.exec(given)?.[1] : undefined;
  return id === undefined || /^0+$/.test(id) ? null : id;
}

/** Called with every request after it has ended. */
export type Observe = (record: RequestRecord) => void;
