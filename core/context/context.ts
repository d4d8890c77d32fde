import type { EntityKind } from '#core/contract/entities.ts';
import type { EntityType, Action } from '#core/contract/history.ts';
import type { Scope } from '#core/contract/operation.ts';
import type { Role } from '#core/contract/roles.ts';
import type { StoredEntity } from '#core/store/entity-table.ts';
import type { StoredSettings } from '#core/settings/settings.ts';
import type { ConnectionRow, WithSources } from '#core/sources/source-pool.ts';
import type { ProgressNote } from '#core/platform/progress.ts';
import type { Platform } from '#core/platform/platform.ts';
import type { Input, OperationName, Output, RawInput } from '#core/contract/index.ts';

/** Returns the ID of a new record. A proposed record has the same ID in every trial run of its proposal and on approval. */
export const newId = ({ app, proposal_run }: Context, kind: EntityKind, values: object): string =>
  proposal_run?.newId(kind, String((values as { name?: unknown }).name)) ?? app.ids();

/**
 * Whether writing unchanged values changes nothing. Agents repeat calls if they are unsure that one arrived, and their tools
 * promise that this is safe. A proposal must give the same result for every caller. Any other PATCH with a field creates a new
 * version.
 */
export const isIdempotent = ({ by_name, proposal_run }: Context): boolean => by_name === true || proposal_run !== undefined;

/** The record that a history entry is about. */
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

/** The caller, as recorded in history and activity. */
export interface Actor {
  readonly type: 'admin' | 'agent_token' | 'oauth_client' | 'system';
  readonly id: string | null;
  readonly name: string;
  readonly scopes: readonly Scope[];
  /** Role of a signed-in person. Tokens and clients have none: their scopes decide. */
  readonly role?: Role;
  /** Session of a person. */
  readonly session_id?: string;
}

/** One request, through any edge. */
export interface RequestContext {
  readonly actor: Actor | null;
  readonly ip: string | null;
  readonly user_agent: string | null;
  readonly request_id: string;
  readonly signal?: AbortSignal;
  /** Body of a file upload, and its declared length. */
  readonly body?: ReadableStream<Uint8Array> | null;
  readonly body_bytes?: number | null;
  /** Secret of the cookie that ties a client's sign-in to the browser that started it. */
  readonly browser?: string | null;
  /** Sets the session cookie of the response, or clears it with null. */
  readonly setSession?: (token: string | null) => void;
  /** The caller is an agent: fields for ids may contain names. */
  readonly by_name?: boolean;
  /** The proposal that the operation is added to, and the note on it. */
  readonly proposal?: { readonly id: string | null; readonly note: string | null };
  readonly proposal_run?: ProposalRun;
}

/** Set while an operation of a proposal is tested or applied. */
export interface ProposalRun {
  readonly proposal_id: string;
  /** The id of its author, if a person proposed it; null: a token did. */
  readonly person: string | null;
  /** It is only tested, in a copy of the configuration. */
  readonly is_trial: boolean;
  readonly author: string;
  /** Returns the ID of a new record, the same in every run of the proposal. */
  newId(kind: string, name: string): string;
  /** Recorded history entries, in order. */
  readonly written: Recorded[];
}

/** Several records written together: an import or a rollback. */
export interface ChangeBatch {
  readonly action: 'import' | 'rollback';
  readonly batch_id: string;
  /** Connections of the batch that are not stored yet, by ID. Definitions are checked against these. */
  readonly connections: ReadonlyMap<string, ConnectionRow>;
  readonly progress: ProgressNote;
  /** Shared by all records of the batch and read once. */
  readonly cache: {
    tool_names?: Promise<string[]>;
    settings?: Promise<StoredSettings>;
    /** Stored connections, by id. */
    owners?: ReadonlyMap<string, ConnectionRow>;
    /** IDs of the records that the batch will store. */
    planned?: ReadonlySet<string>;
    /** Previous states, by ID, of records whose name or address another record of the batch takes. */
    parked?: Map<string, StoredEntity>;
    /** Set if the check that an owner can still sign in runs only once, at the end. */
    keeps_owner?: boolean;
  };
}

/** First argument of every handler. */
export interface Context<A extends Platform = WithSources> extends RequestContext {
  readonly app: A;
  /** For handlers that run other operations. */
  readonly operations?: RunOperations<A>;
  /** The batch that writes belong to: history records its action and id. */
  readonly batch?: ChangeBatch;
}

export type Handlers<A extends Platform = WithSources> = {
  readonly [N in OperationName]: (context: Context<A>, input: Input<N>) => Promise<Output<N>> | Output<N>;
};

/** Sluice as the actor, for the demo and for imports at start. */
export const SYSTEM: Actor = { type: 'system', id: null, name: 'system', scopes: ['read', 'write', 'deploy'] };

export const systemRequest = (request_id: string): RequestContext => ({ actor: SYSTEM, ip: null, user_agent: null, request_id });

/** Runs operations from within a handler. */
export interface RunOperations<A extends Platform = WithSources> {
  run<N extends OperationName>(app: A, name: N, input: RawInput<N>, call: RequestContext): Promise<Output<N>>;
  /** Runs only the handler: the input is already parsed and the caller authorised. */
  perform(app: A, name: OperationName, input: Readonly<Record<string, unknown>>, call: RequestContext): Promise<unknown>;
}
