import * as v from 'valibot';
import type { App } from '#core/app.ts';
import { type Input, type OperationName, operations, type Output, type RawInput } from '#core/contract/index.ts';
import { pathVariables } from '#core/contract/paths.ts';
import { entryNames, leastRole, type Operation, readOnlyFields, type Scope } from '#core/contract/operation.ts';
import type { Recorded } from '#core/observe/history.ts';
import type { Role } from '#core/contract/identity/roles.ts';
import { announce } from './cluster/announcements.ts';
import { AppError } from '#core/errors.ts';
import { isPlainText, refuseHidden, refuseUnkeepable, toInvalid } from './process/issues.ts';
import { readValue } from './process/read-value.ts';
import { isAdministrator, requireRole } from './identity/roles.ts';
import { hideClaims } from './definitions/settings/hidden-claims.ts';
import { resolveNames } from './identity/agent-names.ts';
import { notedAs, recordBlocked } from './definitions/guard/blocked.ts';
import { StaleVersion } from './definitions/versioned.ts';
import { withAuthor } from './observe/history.ts';
import { handlers } from './handlers.ts';
import { isForProposal, propose } from './proposals/propose.ts';
import type { Stored } from './definitions/kinds.ts';
import type { StoredSettings } from './definitions/settings/settings.ts';
import type { ConnectionRow } from './definitions/source-pool.ts';
import type { ProgressNote } from './cluster/progress.ts';

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
export interface Call {
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
  readonly replay?: Replay;
}

/** An operation of a proposal that is tried, or applied. */
export interface Replay {
  readonly proposal_id: string;
  readonly author: string;
  /** The id of a new record, the same in every replay. */
  newId(kind: string, name: string): string;
  /** What history is told, in its order. */
  readonly written: Recorded[];
}

/** Several records written as one: an import, a rollback. */
export interface Change {
  readonly action: 'import' | 'rollback';
  readonly batch_id: string;
  /** Connections that are about to be stored, by id: what belongs to them is checked against these. */
  readonly connections: ReadonlyMap<string, ConnectionRow>;
  readonly progress: ProgressNote;
  /** What all of its records need, read once. */
  readonly memo: {
    tool_names?: Promise<string[]>;
    settings?: Promise<StoredSettings>;
    /** Stored connections, by id. */
    owners?: ReadonlyMap<string, ConnectionRow>;
    /** Ids of what is about to be stored. */
    planned?: ReadonlySet<string>;
    /** Records whose names or addresses others take, as they were before they gave them up, by id. */
    parked?: Map<string, Stored>;
    /** That an owner who can sign in remains is checked once, at the end. */
    keeps_owner?: boolean;
  };
}

/** What a handler gets. */
export interface Context extends Call {
  readonly app: App;
  /** For what runs operations itself. */
  readonly door?: Door;
  /** What is written belongs to this: history names its action and batch. */
  readonly change?: Change;
}

export type Handlers = {
  readonly [N in OperationName]: (context: Context, input: Input<N>) => Promise<Output<N>> | Output<N>;
};

/** The product itself acting: the demo, imports at start. */
export const SYSTEM: Actor = { type: 'system', id: null, name: 'system', scopes: ['read', 'write', 'deploy'] };
export const systemCall = (request_id: string): Call => ({ actor: SYSTEM, ip: null, user_agent: null, request_id });

/** How operations are run by an operation. */
export interface Door {
  readonly run: typeof run;
  /** Without asking who may: the input was parsed, and its caller was let in before. */
  readonly perform: (app: App, name: OperationName, given: Readonly<Record<string, unknown>>, call: Call) => Promise<unknown>;
}

/** The one door: authorise → parse → handler (which guards what it writes) → strip and hide. A token that proposes changes nothing. */
export async function run<N extends OperationName>(app: App, name: N, input: RawInput<N>, call: Call): Promise<Output<N>> {
  const definition: Operation = operations[name];
  authorise(definition, call.actor);
  const given = parseInput(definition, input);
  const context: Context = { ...call, app, door: { run, perform } };
  const is_proposal = isForProposal(context, definition);
  const output = is_proposal
    ? ((await propose(context, name, definition, given)) as Output<N>)
    : await perform(app, name, given, call);
  if (definition.method !== 'GET' && definition.access !== 'read') announce(app, is_proposal ? 'proposals.approve' : name);
  return output;
}

async function perform<N extends OperationName>(
  app: App,
  name: N,
  given: Readonly<Record<string, unknown>>,
  call: Call,
): Promise<Output<N>> {
  const definition: Operation = operations[name];
  const parsed = (call.by_name ? await resolveNames(app, name, given) : given) as Input<N>;
  const context: Context = { ...call, app, door: { run, perform } };
  try {
    const output = v.parse(definition.output, await handlers[name](context, parsed)) as Output<N>;
    return isAdministrator(call.actor) ? output : hideClaims(output);
  } catch (error) {
    if (error instanceof StaleVersion) throw await withAuthor(app, error);
    if (error instanceof AppError) await recordBlocked(context, notedAs(name), parsed, error);
    throw error;
  }
}

/** Refuses who may not call an operation. */
export function authorise(definition: Operation, actor: Actor | null): void {
  const { access } = definition;
  if (access === 'public') return;
  if (actor === null) throw new AppError('unauthenticated', 'Sign in first. This request has no valid session or token.');
  const in_session = actor.type === 'admin' || actor.type === 'system';
  if (access === 'admin' && !in_session) {
    throw new AppError('admin_only', 'Only a signed-in person can do this, not a token.');
  }
  if (access !== 'admin' && !in_session && !allows(actor.scopes, access)) {
    const proposes = actor.scopes.includes('propose') ? ' It can propose changes, which a person approves and deploys.' : '';
    throw new AppError('insufficient_scope', `This token lacks the scope ${access}.${proposes}`);
  }
  requireRole(actor, leastRole(definition));
}

/** Whoever proposes reads, and what they write becomes a proposal. */
const allows = (scopes: readonly Scope[], access: Exclude<Scope, 'propose'>): boolean =>
  scopes.includes(access) || (access !== 'deploy' && scopes.includes('propose'));

export function parseInput(definition: Operation, input: Record<string, unknown>): Record<string, unknown> {
  const allowed = entryNames(definition.input);
  for (const name of pathVariables(definition.path)) {
    if (typeof input[name] === 'string' && !isPlainText(input[name]))
      throw new AppError('not_found', 'There is nothing at this address.');
  }
  refuseUnkeepable(input);
  const dropped = readOnlyFields(definition);
  const kept = Object.fromEntries(Object.entries(input).filter(([name]) => !dropped.includes(name)));
  const result = readValue(definition.input, kept);
  if (!result.success) throw toInvalid(result.issues, allowed);
  // What is deleted may have any name.
  if (definition.method !== 'GET' && definition.method !== 'DELETE') refuseHidden(result.output);
  return result.output;
}
