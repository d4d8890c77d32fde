import type { EntityKind } from '#core/contract/entities.ts';
import type { EntityType, Action } from '#core/contract/history.ts';
import type { Scope } from '#core/contract/operation.ts';
import type { Role } from '#core/contract/identity/roles.ts';
import type { StoredEntity } from '#core/store/entity-table.ts';
import type { StoredSettings } from '#core/settings/settings.ts';
import type { ConnectionRow, WithSources } from '#core/sources/source-pool.ts';
import type { ProgressNote } from '#core/platform/progress.ts';
import type { Platform } from '#core/platform/platform.ts';
import type { Input, OperationName, Output, RawInput } from '#core/contract/index.ts';

/** The id of a new record; that of a proposed one is the same whenever the proposal is tried, and when it is approved. */
export const newId = ({ app, proposal_run }: Context, kind: EntityKind, values: object): string =>
  proposal_run?.newId(kind, String((values as { name?: unknown }).name)) ?? app.ids();

/**
 * Whether what is stored already is no change. An agent calls again where it is not sure that its call arrived, and its tools say that
 * this does nothing; what it proposes is the same whoever tries it. Any other PATCH with a field counts as a version (specification 9).
 */
export const isIdempotent = ({ by_name, proposal_run }: Context): boolean => by_name === true || proposal_run !== undefined;

/** What an entry is about. */
export interface Subject {
  readonly entity_type: EntityType;
  readonly entity_id: string;
  readonly entity_name: string;
}

export interface Recorded extends Subject {
  readonly action: Action;
  readonly before: Record<string, unknown> | null;
  readonly after: Record<string, unknown> | null;
  readonly batch_id?: string | undefined;
}

/** Who calls; what history and activity name. */
export interface Actor {
  readonly type: 'admin' | 'agent_token' | 'oauth_client' | 'system';
  readonly id: string | null;
  readonly name: string;
  readonly scopes: readonly Scope[];
  /** Of a person, however they signed in. The credentials that administrators make have none: their scopes say what they may. */
  readonly role?: Role;
  /** Of a person's session. */
  readonly session_id?: string;
}

/** One request, whatever edge it came through. */
export interface RequestContext {
  readonly actor: Actor | null;
  readonly ip: string | null;
  readonly user_agent: string | null;
  readonly request_id: string;
  readonly signal?: AbortSignal;
  /** The file that an operation takes, and how long it says that it is. */
  readonly body?: ReadableStream<Uint8Array> | null;
  readonly body_bytes?: number | null;
  /** Secret of the cookie that binds the sign-in of a client to the browser that began it. */
  readonly browser?: string | null;
  /** Gives the session cookie of the answer, or null to clear it. */
  readonly setSession?: (token: string | null) => void;
  /** Names stand where ids are wanted: an agent calls. */
  readonly by_name?: boolean;
  /** The proposal that a token names, and why it proposes this. */
  readonly proposal?: { readonly id: string | null; readonly note: string | null };
  readonly proposal_run?: ProposalRun;
}

/** An operation of a proposal that is tried, or applied. */
export interface ProposalRun {
  readonly proposal_id: string;
  readonly author: string;
  /** The id of a new record, the same in every replay. */
  newId(kind: string, name: string): string;
  /** What history is told, in its order. */
  readonly written: Recorded[];
}

/** Several records written as one: an import, a rollback. */
export interface ChangeBatch {
  readonly action: 'import' | 'rollback';
  readonly batch_id: string;
  /** Connections that are about to be stored, by id: what belongs to them is checked against these. */
  readonly connections: ReadonlyMap<string, ConnectionRow>;
  readonly progress: ProgressNote;
  /** What all of its records need, read once. */
  readonly cache: {
    tool_names?: Promise<string[]>;
    settings?: Promise<StoredSettings>;
    /** Stored connections, by id. */
    owners?: ReadonlyMap<string, ConnectionRow>;
    /** Ids of what is about to be stored. */
    planned?: ReadonlySet<string>;
    /** Records whose names or addresses others take, as they were before they gave them up, by id. */
    parked?: Map<string, StoredEntity>;
    /** That an owner who can sign in remains is checked once, at the end. */
    keeps_owner?: boolean;
  };
}

/** What a handler gets. */
export interface Context<A extends Platform = WithSources> extends RequestContext {
  readonly app: A;
  /** For what runs operations itself. */
  readonly operations?: RunOperations<A>;
  /** What is written belongs to this: history names its action and batch. */
  readonly batch?: ChangeBatch;
}

export type Handlers<A extends Platform = WithSources> = {
  readonly [N in OperationName]: (context: Context<A>, input: Input<N>) => Promise<Output<N>> | Output<N>;
};

/** The product itself acting: the demo, imports at start. */
export const SYSTEM: Actor = { type: 'system', id: null, name: 'system', scopes: ['read', 'write', 'deploy'] };

export const systemRequest = (request_id: string): RequestContext => ({ actor: SYSTEM, ip: null, user_agent: null, request_id });

/** How operations are run by an operation. */
export interface RunOperations<A extends Platform = WithSources> {
  run<N extends OperationName>(app: A, name: N, input: RawInput<N>, call: RequestContext): Promise<Output<N>>;
  /** Without asking who may: the input was parsed, and its caller was let in before. */
  perform(app: A, name: OperationName, given: Readonly<Record<string, unknown>>, call: RequestContext): Promise<unknown>;
}
