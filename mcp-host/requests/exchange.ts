import type { Caller } from '#mcp-host/auth/caller.ts';
import type { Registry } from '#mcp-host/registry/registry.ts';
import type { Endpoint } from '#core/edge/mcp-endpoint.ts';
import type { Peer } from '#mcp-host/runtime/types.ts';

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
  /** Decides the side of a canary, if it is not the credential, the session or the address of the request. */
  readonly key?: string;
  /** While a canary runs: the registry for the side that a key decides. */
  readonly forKey?: ((key: string) => Registry) | undefined;
  /** For the log; absent on standard input. */
  readonly request_id?: string;
  /** Says why only answers to requests of the host are accepted; absent: every message is accepted. */
  readonly answers_only?: string | undefined;
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
