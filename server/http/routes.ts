import type { ControlPlane } from '#core/control-plane/control-plane.ts';
import type { Hono, Context } from 'hono';
import { type OperationName, operations } from '#core/contract/index.ts';
import { fullPath, pathVariables } from '#core/contract/paths.ts';
import { isCreation, type Operation } from '#core/contract/operation.ts';
import type { RequestContext } from '#core/context/context.ts';
import { authoriseCall, runAuthorised } from '#core/control-plane/run.ts';
import { refuseAbandoned } from '#core/lib/abandoned.ts';
import { wellFormedJson } from '#core/lib/text/wire-text.ts';
import { asBearer, bearerOf, callerAddress } from '#server/request/bearer.ts';
import { createRepeats } from './idempotency.ts';
import { sessionActor, writeSession, readBrowser } from '#server/request/session.ts';
import type { ServerEnv } from '#server/request/server-env.ts';
import { invalidField, AppError } from '#core/errors.ts';
import { isReservedName } from '#core/process/issues.ts';
import { readJson } from '#server/request/body.ts';

const MAX_BODY = 1024 * 1024;

const JSON_TYPE = { 'content-type': 'application/json' };

/** One route for every operation of the contract. */
export function addRoutes(app: ControlPlane, router: Hono<ServerEnv>): void {
  const repeats = createRepeats(app);
  for (const [name, definition] of Object.entries(operations) as [OperationName, Operation][]) {
    const path = fullPath(definition.path).replaceAll(/\{(\w+)\}/g, ':$1');
    router.on(definition.method, path, async (c) => {
      const session: { token?: string | null } = {};
      const call = toCall(app, c, (token) => {
        session.token = token;
      });
      const bearer = definition.access === 'public' ? null : bearerOf(c);
      let waited = false;
      const work = async (who: Pick<RequestContext, 'actor' | 'by_name'>) => {
        // The body is read only after the caller is authorised.
        await authoriseCall(app, name, { ...call, ...who });
        const input = await readInput(definition, c);
        waited = definition.waits === true && input['wait'] === true;
        c.env?.received?.();
        if (definition.method !== 'GET') await refuseAbandoned(call.signal);
        const key = isCreation(definition) ? c.req.header('idempotency-key') : undefined;
        const requested = { ...call, ...who };
        return repeats({ key, call: requested, name, input }, (held) => runAuthorised(held, name, input as never, requested));
      };
      const output =
        bearer === null
          ? await work({ actor: await sessionActor(app, c) })
          : await asBearer(app, c, bearer, name, definition, work);
      if (session.token !== undefined) writeSession(app, c, session.token);
      const status = isProposed(output) ? 202 : waited ? 200 : (definition.status ?? 200);
      return status === 204 ? c.body(null, 204) : c.body(wellFormedJson(JSON.stringify(output)), status, JSON_TYPE);
    });
  }
}

const ADDRESSES = Object.values<Operation>(operations).map(({ method, path }) => ({
  method,
  pattern: new RegExp(
    `^${fullPath(path)
      .replaceAll('.', '\\.')
      .replaceAll(/\{\w+\}/g, '[^/]+')}$`,
  ),
}));

/** Methods of the operations at an address, as `Allow` lists them (RFC 9110, section 10.2.1). */
export function methodsAt(address: string): string[] {
  const methods = ADDRESSES.flatMap(({ method, pattern }) => (pattern.test(address) ? method : []));
  return [...new Set(methods.flatMap((method) => (method === 'GET' ? [method, 'HEAD'] : [method])))];
}

function toCall(
  app: ControlPlane,
  c: Context<ServerEnv>,
  setSession: (token: string | null) => void,
): Omit<RequestContext, 'actor'> {
  return {
    ip: callerAddress(app, c),
    user_agent: c.req.header('user-agent') ?? null,
    request_id: c.get('request_id'),
    signal: c.req.raw.signal,
    body: c.req.raw.body,
    body_bytes: lengthOf(c),
    browser: readBrowser(app, c),
    proposal: proposalOf(c),
    setSession,
  };
}

/** The proposal that the headers of a write name. The note may be percent-encoded, because headers are ASCII. */
function proposalOf(c: Context<ServerEnv>): NonNullable<RequestContext['proposal']> {
  const note = c.req.header('x-proposal-note');
  const encoded = c.req.header('x-proposal-note-base64url');
  const text = encoded === undefined ? note && decoded(note) : Buffer.from(encoded, 'base64url').toString();
  return { id: c.req.header('x-proposal-id') ?? null, note: text ?? null };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** A proposed write has not happened yet, so its status is not that of the write. */
const isProposed = (output: unknown): boolean =>
  typeof output === 'object' && output !== null && 'proposed' in output && output.proposed === true;

/** Null: there is no valid Content-Length. */
function lengthOf(c: Context<ServerEnv>): number | null {
  const text = c.req.header('content-length');
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : null;
}

async function readInput(definition: Operation, c: Context<ServerEnv>): Promise<Record<string, unknown>> {
  const without_body = definition.method === 'GET' || definition.method === 'DELETE' || definition.file === true;
  const in_query = without_body ? null : (definition.query ?? []);
  const query: Record<string, unknown> = {};
  for (const [name, text] of new URL(c.req.url).searchParams) {
    if (isReservedName(name) || (in_query !== null && !in_query.includes(name))) {
      throw invalidField(name, `${name} is not a query parameter of this operation.`);
    }
    query[name] ??= coerce(definition, name, text);
  }
  const body = in_query === null ? {} : await readJson(c.req.raw, definition.max_body ?? MAX_BODY);
  const path = Object.fromEntries(
    pathVariables(definition.path).map((name) => [name, pathValue(definition, name, c.req.param(name) ?? '')]),
  );
  return { ...body, ...query, ...path };
}

/** Throws `not_found` for a number in a path that is not a valid id. */
function pathValue(definition: Operation, name: string, text: string): unknown {
  const value = coerce(definition, name, text);
  const type = typeOfField(definition, name);
  if (type === 'number' && !(Number.isInteger(value) && Number(value) >= 1 && Number(value) < 2 ** 31)) {
    throw new AppError('not_found', 'There is nothing at this address.');
  }
  return value;
}

/** Converts a query text to the type of its schema. Any other text stays unchanged, and validation reports it. */
function coerce(definition: Operation, name: string, text: string): unknown {
  const type = typeOfField(definition, name);
  if (type === 'number' && /^-?\d+(\.\d+)?$/.test(text)) return Number(text);
  if (type === 'boolean' && (text === 'true' || text === 'false')) return text === 'true';
  return text;
}

interface SchemaNode {
  readonly type: string;
  readonly wrapped?: SchemaNode;
}

/** The type of an input's field. Every operation's input is an object with entries. */
const typeOfField = ({ input }: Operation, name: string): string =>
  typeOf((input as { readonly entries?: Readonly<Record<string, SchemaNode>> }).entries?.[name]);

function typeOf(schema: SchemaNode | undefined): string {
  if (schema === undefined) return 'unknown';
  return schema.wrapped === undefined ? schema.type : typeOf(schema.wrapped);
}
