import type { Caller } from '#mcp-host/auth/caller.ts';
import type { Registry } from '#mcp-host/registry/registry.ts';
import type { Endpoint } from '#core/edge/mcp-endpoint.ts';
import type { Peer } from '#mcp-host/runtime/types.ts';

/** One authorised HTTP exchange. */
export interface Exchange {
  readonly request: Request;
  /** What the caller sees at the endpoint, also if there is a deploy meanwhile. */
  readonly registry: Registry;
  readonly caller: Caller;
  readonly endpoint: Endpoint;
  /** Of the caller, read when it is wanted. */
  readonly address: () => string;
  readonly peer: Peer;
  /** Decides the side of a canary, where it is neither the credential, the session nor the address of the request. */
  readonly key?: string;
  /** While a canary runs: what the caller is served whose side is decided by this. */
  readonly forKey?: (key: string) => Registry;
  /** For the log; absent on standard input. */
  readonly request_id?: string;
  /** Why nothing else is taken than answers to our own requests; absent: everything is. */
  readonly answers_only?: string;
  /** Whether the answer may come as gzip; absent: it may not. */
  readonly accepts_gzip?: () => boolean;
  /** What a signed-in person could ask for beyond what it has; absent: nothing. */
  readonly beyond?: GrantableScopes;
}

/** Scopes that a person was not granted, but would be. */
export interface GrantableScopes {
  /** Names of toolsets of which one shows what a predicate looks for. */
  scopesFor(shows: (view: Registry) => boolean): readonly string[];
  /** The `WWW-Authenticate` header that asks for scopes beside those that the caller has (RFC 6750 section 3.1). */
  challenge(scopes: readonly string[]): string;
}
