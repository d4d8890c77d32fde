import { toJsonSchema } from '@valibot/to-json-schema';
import { described, describedFields } from '#core/contract/marks.ts';
import * as v from 'valibot';
import { type OperationName, operations } from '#core/contract/index.ts';
import { fullPath, pathVariables } from '#core/contract/paths.ts';
import type { Role } from '#core/contract/roles.ts';
import { type Access, leastRole, type Operation, readOnlyFields } from '#core/contract/operation.ts';
import { ERROR_STATUS } from '#core/errors.ts';
import { LOG_LEVELS } from '#core/contract/log-levels.ts';
import { PRODUCT_NAME, PRODUCT_VERSION } from '#core/process/version.ts';
import { CALLBACK_PATH } from '#core/contract/identity/identity-providers.ts';
import { isAlone, wayOf } from '#core/contract/proposal-ways.ts';
import { START_PATH } from './oidc.ts';
import { auditFilters, ExportFormat } from '#core/contract/observe/audit.ts';
import { AUDIT_EXPORT_PATH } from './audit-export.ts';
import { CHANGES_PATH } from '../hosts/changes.ts';
import { LOGS_PATH } from '../hosts/live-logs.ts';
import { LIVE_SOURCES } from '../hosts/log-ring.ts';
import { PLAYGROUND_PATH } from '../hosts/playground.ts';

type Json = Record<string, unknown>;

const TOKENS: Readonly<Record<Exclude<Access, 'public'>, string>> = {
  session: '',
  read: ', or a token with the scope `read`',
  write: ', or a token with the scope `write`',
  deploy: ', or a token with the scope `deploy`',
};

function accessOf(definition: Pick<Operation, 'access' | 'role' | 'requires'>): string {
  const { access, requires = 'no credentials' } = definition;
  if (access === 'public') return `Requires ${requires}.`;
  return `Requires the session of a person with at least the role \`${leastRole(definition)}\`${TOKENS[access]}.`;
}

const json = (schema: Json): Json => ({ 'application/json': { schema } });
const FAULT: Json = {
  description: `An error, as one sentence; with \`Accept: application/problem+json\` also its code and fields (RFC 9457). Statuses: ${[...new Set(Object.values(ERROR_STATUS))].join(', ')}.`,
  headers: {
    'X-Request-Id': { description: 'Names the request in the log', schema: { type: 'string' } },
    'Retry-After': { description: 'Seconds after which to try again, where that helps', schema: { type: 'integer' } },
  },
  content: {
    ...json({ $ref: '#/components/schemas/Error' }),
    'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } },
  },
};
const PROBLEM: Json = {
  type: 'object',
  properties: {
    type: { const: 'about:blank' },
    title: { type: 'string' },
    status: { type: 'integer' },
    detail: { type: 'string' },
    code: { enum: Object.keys(ERROR_STATUS) },
    errors: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          field: { type: 'string', description: 'A dotted path such as `parameters.0.name`' },
          message: { type: 'string' },
          gate: { type: 'string', description: 'The gate of a deploy that found it' },
          rule: { type: 'string', description: 'The lint rule that found it' },
        },
        required: ['field', 'message'],
        additionalProperties: false,
      },
    },
    request_id: { type: 'string' },
    position: { type: 'integer', description: 'Where in the statement: an offset in characters from 0' },
  },
  required: ['type', 'title', 'status', 'detail', 'code', 'errors', 'request_id'],
  additionalProperties: false,
};

const PROPOSED: Json = {
  type: 'object',
  description: 'The answer as if it had happened, with the proposal that holds it. Ids in it stay when it is approved',
  properties: { proposed: { const: true }, proposal_id: { type: 'string' } },
  required: ['proposed', 'proposal_id'],
};
const PROPOSES =
  ' A token with the scope `propose` and without `write` proposes it, and so does a person with a header: `X-Proposal-Id` and `X-Proposal-Note` (percent-encoded) name the proposal and say why.';

/** The OpenAPI 3.1 document, from the schemas that validate. */
export function openApi(): Json {
  const paths: Record<string, Json> = {};
  for (const [name, definition] of Object.entries(operations) as [string, Operation][]) {
    const path = fullPath(definition.path);
    paths[path] = { ...paths[path], [definition.method.toLowerCase()]: describe(name, definition) };
  }
  Object.assign(paths, streams());
  return {
    openapi: '3.1.0',
    info: { title: PRODUCT_NAME, version: PRODUCT_VERSION, license: { name: 'MIT', identifier: 'MIT' } },
    paths,
    components: {
      securitySchemes: {
        session: {
          type: 'apiKey',
          in: 'cookie',
          name: 'svc_session',
          description: 'The session of a signed-in person. Over HTTPS the cookie is named `__Host-svc_session`',
        },
        bearer: {
          type: 'http',
          scheme: 'bearer',
          description:
            'A temporary agent token, or an access token: of an OAuth client, or of a client in which a person signed in',
        },
      },
      schemas: {
        Error: { type: 'object', properties: { detail: { type: 'string' } }, required: ['detail'], additionalProperties: false },
        Problem: PROBLEM,
        Proposed: PROPOSED,
      },
    },
  };
}

/** Paths that are not operations of the contract: a stream of lines, and messages that are forwarded unchanged. */
function streams(): Record<string, Json> {
  const of = (role: Role) => ({ description: accessOf({ access: 'session', role }), security: [{ session: [] }] });
  const text = (name: string, description: string) => ({
    name,
    in: 'query',
    required: false,
    description,
    schema: { type: 'string' },
  });
  const host = text('host', 'The id of a connected host; defaults to the first one');
  const message = (operationId: string, summary: string) => ({
    operationId,
    tags: ['playground'],
    summary,
    ...of('viewer'),
    parameters: [host],
    responses: { 200: { description: 'The unchanged answer of the host' }, default: FAULT },
  });
  const lines = { 'text/event-stream': { schema: { type: 'string' } } };
  const visit = (operationId: string, summary: string, parameters: readonly Json[]) => ({
    operationId,
    tags: ['auth'],
    summary,
    description: accessOf({ access: 'public' }),
    parameters,
    responses: {
      302: { description: 'The next address of the browser' },
      303: { description: 'Back in the UI' },
      default: FAULT,
    },
  });
  return {
    [START_PATH]: {
      get: visit('auth.oidc_start', 'Begin a sign-in through an identity provider, in a browser', [
        { name: 'id', in: 'path', required: true, schema: { type: 'string' } },
        text('return_to', 'Where the sign-in ends: a path of this server. Defaults to /'),
        { ...text('link', 'Link the account to the signed-in person'), schema: { type: 'boolean' } },
        { ...text('fresh', 'Ask the provider to authenticate the person again'), schema: { type: 'boolean' } },
      ]),
    },
    [CALLBACK_PATH]: {
      get: visit('auth.oidc_callback', 'End a sign-in: where an identity provider sends the browser back to', [
        text('state', 'Of the request that the provider answers'),
        text('code', 'Exchanged for the identity of the person'),
        text('iss', 'The issuer that answers (RFC 9207)'),
        text('error', 'Why there is no code'),
      ]),
    },
    [LOGS_PATH]: {
      get: {
        operationId: 'deploy.logs',
        tags: ['deploy'],
        summary: 'Follow the live log as a WebSocket if the request upgrades, otherwise as server-sent events',
        ...of('admin'),
        parameters: [
          { ...text('level', 'The minimum level to send'), schema: { enum: [...LOG_LEVELS] } },
          { ...text('source', 'Only lines of this source'), schema: { enum: [...LIVE_SOURCES] } },
          text('since', 'Only lines newer than this sequence number or ISO 8601 time'),
        ],
        responses: {
          101: { description: 'A WebSocket of JSON frames' },
          200: { description: 'A stream of JSON frames: `hello`, `log`, `dropped` and `ping`', content: lines },
          default: FAULT,
        },
      },
    },
    [CHANGES_PATH]: {
      get: {
        operationId: 'changes.follow',
        tags: ['changes'],
        summary: 'Follow changes as a WebSocket: the names of operations that were run, and of what happened without one',
        ...of('caller'),
        parameters: [],
        responses: { 101: { description: 'A WebSocket of JSON frames such as `{"changed":["tools.update"]}`' }, default: FAULT },
      },
    },
    [AUDIT_EXPORT_PATH]: {
      get: {
        operationId: 'audit.export',
        tags: ['audit'],
        summary: 'Download the audit log, oldest first, one JSON document per line',
        ...of('admin'),
        parameters: Object.entries({ format: ExportFormat, ...auditFilters }).map(([name, schema]) => ({
          name,
          in: 'query',
          required: false,
          schema: schemaOf(schema, 'input'),
        })),
        responses: {
          200: {
            description: 'Entries as `audit.list` returns them, or events of OCSF with `format=ocsf`',
            content: { 'application/x-ndjson': { schema: { type: 'string' } } },
          },
          default: FAULT,
        },
      },
    },
    [PLAYGROUND_PATH]: {
      post: {
        ...message('playground.send', 'Send a message to the MCP endpoint of a connected host'),
        requestBody: { required: true, content: json({ type: 'object' }) },
      },
      delete: message('playground.end', 'End a session at the MCP endpoint of a connected host'),
    },
  };
}

function describe(name: string, definition: Operation): Json {
  const { method, path, input, output, status = 200, waits = false, summary, access } = definition;
  const { query = [], needs = [], file = false } = definition;
  const { properties, required: listed = [] } = schemaOf(input, 'input') as {
    properties: Record<string, Json>;
    required?: string[];
  };
  const required = [...listed, ...needs];
  const variables = pathVariables(path);
  const without_body = method === 'GET' || method === 'DELETE' || file;
  const in_query = Object.keys(properties).filter(
    (field) => !variables.includes(field) && (without_body || query.includes(field)),
  );
  const in_body = Object.keys(properties).filter((field) => !variables.includes(field) && !in_query.includes(field));
  const parameter = (location: 'path' | 'query') => (field: string) => ({
    name: field,
    in: location,
    required: location === 'path' || required.includes(field),
    schema: properties[field],
  });
  const proposable = isAlone(name) || wayOf(name as OperationName, definition, {}) === 'change';
  return {
    operationId: name,
    tags: [name.split('.')[0]],
    summary,
    description: `${accessOf(definition)}${proposable ? PROPOSES : ''}`,
    ...(access === 'public' ? {} : { security: access === 'session' ? [{ session: [] }] : [{ session: [] }, { bearer: [] }] }),
    parameters: [...variables.map(parameter('path')), ...in_query.map(parameter('query'))],
    ...(in_body.length === 0
      ? {}
      : { requestBody: body([...in_body, ...readOnlyFields(definition)], { ...readOnly(definition), ...properties }, required) }),
    ...(file ? { requestBody: FILE } : {}),
    responses: {
      ...(waits ? { 200: { description: 'Done, with `wait=true`', content: json(schemaOf(output, 'output')) } } : {}),
      [status]: status === 204 ? { description: 'Done' } : { description: 'Done', content: json(schemaOf(output, 'output')) },
      ...(proposable ? { 202: { description: 'Proposed', content: json({ $ref: '#/components/schemas/Proposed' }) } } : {}),
      default: FAULT,
    },
  };
}

/** Any bytes. */
const FILE: Json = {
  required: true,
  content: { 'application/octet-stream': { schema: { type: 'string', format: 'binary', description: 'The file as it is' } } },
};

/** Fields that a client sends along when it returns a record as it was read. */
const readOnly = (definition: Operation): Record<string, Json> =>
  Object.fromEntries(readOnlyFields(definition).map((field) => [field, READ_ONLY]));
const READ_ONLY: Json = { readOnly: true, description: 'Ignored' };

function body(fields: readonly string[], properties: Readonly<Record<string, Json>>, required: readonly string[]): Json {
  const needed = fields.filter((field) => required.includes(field));
  const schema = {
    type: 'object',
    properties: Object.fromEntries(fields.map((field) => [field, properties[field]])),
    ...(needed.length > 0 ? { required: needed } : {}),
    additionalProperties: false,
  };
  return { required: needed.length > 0, content: json(schema) };
}

function schemaOf(schema: v.GenericSchema, typeMode: 'input' | 'output'): Json {
  const { $schema: _, ...rest } = toJsonSchema(schema, { typeMode, errorMode: 'ignore', overrideSchema: describeFields }) as Json;
  return rest;
}

/** Fields are described by the texts of the forms. */
const describeFields = (converted: Parameters<typeof describedFields>[0]) =>
  describedFields(converted, (marks, description) =>
    [described(marks), ...(description === undefined ? [] : [description])].join(' '),
  );
