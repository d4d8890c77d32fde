import type * as v from 'valibot';
import { byId, Nothing } from './fields.ts';
import type { Role } from './identity/roles.ts';

/**
 * Who may call an operation (contract section 2): `public` nobody's credentials, `admin` the session cookie only,
 * the three scopes a signed-in person or a bearer that holds the scope. What the role of a person must be: `leastRole`.
 */
export type Access = 'public' | 'admin' | 'read' | 'write' | 'deploy';
/** What a bearer may be allowed to do. With `propose` and without `write`, what it writes waits for a person's approval. */
export type Scope = Exclude<Access, 'public' | 'admin'> | 'propose';

type ObjectSchema = v.GenericSchema<Record<string, unknown>, Record<string, unknown>>;

/** One definition from which routes, validation, OpenAPI, the agent's tools, the typed client and tests are derived. */
export interface Operation {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Below `/api/v1` (or `/api` when it begins with `/health`); `{name}` are fields of the input. */
  readonly path: string;
  readonly access: Access;
  /** What a `public` operation asks for all the same: it completes a sentence of the API description. */
  readonly requires?: string;
  /** The least role of a person (contract section 14), where it is not the one that `access` asks for. */
  readonly role?: Role;
  /** Path variables, query and body in one object; everything but path variables is query on GET and DELETE, body otherwise. */
  readonly input: ObjectSchema;
  /** Fields that are required although the schema takes it without them: what the id names is looked for first. */
  readonly needs?: readonly string[];
  /** Names of the fields that are query parameters although the method has a body. */
  readonly query?: readonly string[];
  readonly output: v.GenericSchema;
  readonly status?: 200 | 201 | 202 | 204;
  /** As what history notes that a control refused it, where its noun does not say so. */
  readonly noted?: 'server_config';
  /** With `?wait=true` it answers when all is done, with 200 instead of its status. */
  readonly waits?: boolean;
  readonly summary: string;
  /** Name of the agent endpoint's tool that is this operation; what it says to a model stands in `agent/`. */
  readonly agent?: string;
  /** The body is a file as it is, which the handler reads as it arrives; every field that is not in the path is a query parameter. */
  readonly file?: true;
  /** Largest body in bytes; 1 MiB unless said. */
  readonly max_body?: number;
}

const LEAST = { public: null, admin: 'admin', read: 'viewer', write: 'editor', deploy: 'editor' } as const satisfies Readonly<
  Record<Access, Role | null>
>;

/** The least role of a person who may call an operation; null: it asks for nobody's credentials. */
export const leastRole = ({ access, role }: Pick<Operation, 'access' | 'role'>): Role | null => role ?? LEAST[access];

/** Whether it makes a record of what its body says: with an `Idempotency-Key` it does so once. */
export const isCreation = ({ method, status, file }: Operation): boolean => method === 'POST' && status === 201 && file !== true;

/**
 * Read-only fields of a record, which may come along where one is sent and are dropped, so that GET → edit → PATCH works.
 */
export function readOnlyFields({ method, status, input, output }: Operation): string[] {
  if (method !== 'PATCH' && status !== 201) return [];
  const allowed = entryNames(input);
  return entryNames(output).filter((name) => !allowed.includes(name));
}

export const entryNames = (schema: unknown): string[] =>
  typeof schema === 'object' && schema !== null && 'entries' in schema ? Object.keys(schema.entries as object) : [];

type Method = Operation['method'];
type Routed<R, A> = R extends `${infer M extends Method} ${infer P}`
  ? { readonly method: M; readonly path: P; readonly access: A }
  : never;

/** @param route its method and path, such as `GET /people/{id}`. */
export function operation<
  const R extends `${Method} /${string}`,
  const A extends Access,
  const O extends Omit<Operation, 'method' | 'path' | 'access'>,
>(route: R, access: A, definition: O) {
  const [method, path] = route.split(' ');
  const routed: unknown = { method, path, access };
  return { ...(routed as Routed<R, A>), ...definition };
}

/** An operation that deletes what an id names. */
export const deletion = <const R extends `DELETE /${string}`, const A extends Access>(route: R, access: A, summary: string) =>
  operation(route, access, { input: byId, output: Nothing, status: 204, summary });
