import type * as v from 'valibot';
import { byId, Nothing } from './fields.ts';
import type { Role } from './roles.ts';

/**
 * The credentials that an operation requires. `public`: none. `session`: the session cookie only. The three scopes: a signed-in
 * person, or a bearer token with that scope. `leastRole` gives the role that a person needs.
 */
export type Access = 'public' | 'session' | 'read' | 'write' | 'deploy';
/** Rights of a bearer token. With `propose` and without `write`, its writes wait for a person's approval. */
export type Scope = Exclude<Access, 'public' | 'session'> | 'propose';

type ObjectSchema = v.GenericSchema<Record<string, unknown>, Record<string, unknown>>;

/** One definition from which routes, validation, OpenAPI, the agent's tools, the typed client and tests are derived. */
export interface Operation {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Path below `/api/v1` (or `/api` if it starts with `/health`); `{name}` is a field of the input. */
  readonly path: string;
  readonly access: Access;
  /** A requirement of a `public` operation; completes a sentence in the API description. */
  readonly requires?: string;
  /** Minimum role of a person, if it differs from the default of `access`. */
  readonly role?: Role;
  /**
   * Path variables, query and body as one object. Fields outside the path are in the query for GET and DELETE, and else in the
   * body.
   */
  readonly input: ObjectSchema;
  /** Required fields that the schema leaves optional, so that an unknown ID is reported first. */
  readonly needs?: readonly string[];
  /** Names of fields that are query parameters although the method has a body. */
  readonly query?: readonly string[];
  readonly output: v.GenericSchema;
  readonly status?: 200 | 201 | 202 | 204;
  /** The kind under which history records that a control refused it, if it differs from the operation's noun. */
  readonly noted?: 'server_config';
  /** With `?wait=true` the response waits for completion and has status 200. */
  readonly waits?: boolean;
  /** Entered into the audit log when it succeeded, and when its caller was refused. Changes are entered with their history entry. */
  readonly audited?: 'call' | 'approval' | 'export';
  readonly summary: string;
  /** Name of its tool on the agent endpoint; the texts for models are in `agent/`. */
  readonly agent?: string;
  /** The body is a raw file that the handler streams; all fields outside the path are query parameters. */
  readonly file?: true;
  /** Maximum body in bytes. Default: 1 MiB. */
  readonly max_body?: number;
}

const LEAST = { public: null, session: 'admin', read: 'viewer', write: 'editor', deploy: 'editor' } as const satisfies Readonly<
  Record<Access, Role | null>
>;

/** Minimum role of a person who calls the operation. Null: no credentials needed. */
export const leastRole = ({ access, role }: Pick<Operation, 'access' | 'role'>): Role | null => role ?? LEAST[access];

/** Whether it creates a record, so that an `Idempotency-Key` prevents a second one. */
export const isCreation = ({ method, status, file }: Operation): boolean => method === 'POST' && status === 201 && file !== true;

/** Read-only fields of a record. Requests can contain them and they are ignored, so that GET → edit → PATCH works. */
export function readOnlyFields({ method, status, input, output }: Operation): string[] {
  if (method !== 'PATCH' && status !== 201) return [];
  const allowed = entryNames(input);
  const refused = Object.keys(DECIDED_BY).filter((name) => DECIDED_BY[name]?.some((other) => allowed.includes(other)));
  return entryNames(output).filter((name) => !allowed.includes(name) && !refused.includes(name));
}

/** Read-only fields that a field with another name decides when a record is created: ignoring them would hide that they have no effect. */
const DECIDED_BY: Readonly<Record<string, readonly string[]>> = { expires_at: ['expires_in_days', 'duration_minutes'] };

export const entryNames = (schema: unknown): string[] =>
  typeof schema === 'object' && schema !== null && 'entries' in schema ? Object.keys(schema.entries as object) : [];

type Method = Operation['method'];
type Routed<R, A> = R extends `${infer M extends Method} ${infer P}`
  ? { readonly method: M; readonly path: P; readonly access: A }
  : never;

/** @param route method and path, such as `GET /people/{id}`. */
export function operation<
  const R extends `${Method} /${string}`,
  const A extends Access,
  const O extends Omit<Operation, 'method' | 'path' | 'access'>,
>(route: R, access: A, definition: O) {
  const [method, path] = route.split(' ');
  const routed: unknown = { method, path, access };
  return { ...(routed as Routed<R, A>), ...definition };
}

/** Defines an operation that deletes a record by ID. */
export const deletion = <const R extends `DELETE /${string}`, const A extends Access>(route: R, access: A, summary: string) =>
  operation(route, access, { input: byId, output: Nothing, status: 204, summary });
