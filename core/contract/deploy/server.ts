import * as v from 'valibot';
import { AuthType, Transport } from '../settings/setting-values.ts';
import { ToolsetName } from '../definitions/toolsets.ts';
import { Counts } from './deploy.ts';
import { Empty, integerBetween } from '../fields.ts';
import { operation } from '../operation.ts';

export const GeneratedFile = v.object({ path: v.string(), content: v.string() });

const RegistryInput = v.object({ description: v.string(), isRequired: v.boolean(), isSecret: v.boolean() });
/** `server.json` of the official registry, schema 2025-12-11. */
export const RegistryEntry = v.object({
  $schema: v.string(),
  name: v.pipe(
    v.string(),
    v.description('The domain reversed, then the name of the server; the registry asks for proof of the domain'),
  ),
  title: v.string(),
  description: v.string(),
  version: v.string(),
  remotes: v.array(
    v.object({
      type: v.literal('streamable-http'),
      url: v.string(),
      headers: v.optional(
        v.array(
          v.object({
            name: v.string(),
            value: v.string(),
            ...RegistryInput.entries,
            variables: v.record(v.string(), RegistryInput),
          }),
        ),
      ),
    }),
  ),
});
export type RegistryEntry = v.InferOutput<typeof RegistryEntry>;

export const server = {
  'health.get': operation('GET /health', 'public', {
    input: Empty,
    output: v.object({ status: v.literal('ok'), version: v.string() }),
    summary: 'Check that the server answers',
  }),
  'server.health': operation('GET /server/health', 'read', {
    input: Empty,
    output: v.object({
      status: v.picklist(['stopped', 'deploying', 'running', 'error']),
      snapshot_version: v.nullable(v.number()),
      server_name: v.string(),
      transport: Transport,
      auth_type: AuthType,
      mcp_url: v.string(),
      hosts: v.array(v.object({ id: v.string(), url: v.nullable(v.string()), snapshot_version: v.nullable(v.number()) })),
      counts: Counts,
      connections: v.array(
        v.object({
          id: v.string(),
          name: v.string(),
          healthy: v.boolean(),
          lag_ms: v.pipe(v.nullable(v.number()), v.description('Largest lag of its standbys')),
        }),
      ),
    }),
    agent: 'get_server_health',
    summary: 'Get the health of the deployed MCP server and its databases',
  }),
  'server.stdio': operation('GET /server/stdio', 'session', {
    role: 'viewer',
    input: Empty,
    output: v.object({
      command: v.string(),
      args: v.array(v.string()),
      env: v.record(v.string(), v.string()),
      secrets: v.pipe(
        v.array(v.string()),
        v.description('Variables to set to the values of this server; empty if the program finds them itself'),
      ),
    }),
    summary: 'Get the command that starts the MCP server over standard input and output from any folder on this machine',
  }),
  'server.registry': operation('GET /server/registry', 'read', {
    input: Empty,
    output: RegistryEntry,
    summary: 'Get the server.json that lists the deployed server in the public MCP registry; nothing is published',
  }),
  'server.generated': operation('GET /server/generated', 'write', {
    audited: 'export',
    input: v.strictObject({
      snapshot: v.optional(integerBetween(1, 2 ** 31 - 1)),
      toolset: v.optional(v.pipe(ToolsetName, v.description('Only what this toolset of the version holds'))),
    }),
    output: v.object({
      snapshot_version: v.number(),
      language: v.literal('typescript'),
      toolsets: v.pipe(v.array(v.string()), v.description('Names of the toolsets of the version')),
      files: v.array(GeneratedFile),
    }),
    agent: 'get_generated_code',
    summary: 'Get the deployed configuration as a standalone TypeScript project',
  }),
};
