import * as v from 'valibot';
import { DeployStatus } from './deploy/deploy.ts';
import { Empty, Timestamp } from './fields.ts';
import { operation } from './operation.ts';
import { AuthType, Transport } from './settings/setting-values.ts';

const texts = { name: v.string(), title: v.nullable(v.string()), description: v.string() };

/** A deployed definition as listed to MCP clients, without SQL and connection. */
const HomeTool = v.object({
  ...texts,
  read_only: v.boolean(),
  input_schema: v.pipe(v.record(v.string(), v.unknown()), v.description('JSON Schema of the arguments')),
});
const HomeResource = v.object({
  ...texts,
  uri: v.pipe(v.string(), v.description('An address, or an RFC 6570 template of addresses')),
  mime_type: v.string(),
});
const HomePrompt = v.object({
  ...texts,
  arguments: v.array(v.object({ name: v.string(), description: v.string(), required: v.boolean() })),
});

export const Home = v.object({
  status: DeployStatus,
  server: v.pipe(
    v.nullable(v.object({ server_name: v.string(), transport: Transport, auth_type: AuthType, mcp_url: v.string() })),
    v.description('The deployed MCP server; null: nothing was deployed yet'),
  ),
  sign_in_problem: v.pipe(
    v.nullable(v.string()),
    v.description('Why MCP clients cannot sign in at this address; null: they can'),
  ),
  listed_by: v.pipe(
    v.picklist(['everyone', 'person', 'token', 'machine']),
    v.description(
      'What decides which definitions the MCP server lists. everyone: it requires no credentials; person: the groups of the signed-in person; token: the token that the client sends; machine: it runs over stdio. With token and machine the lists here are empty',
    ),
  ),
  toolsets: v.pipe(
    v.array(v.object(texts)),
    v.description('Deployed toolsets that the person has; empty with listed_by other than person, and while there is no toolset'),
  ),
  tools: v.array(HomeTool),
  resources: v.array(HomeResource),
  prompts: v.array(HomePrompt),
  invited: v.pipe(
    v.nullable(v.object({ by: v.string(), at: Timestamp })),
    v.description('Who invited or created the person, and when; null: no one did, or the history no longer has it'),
  ),
  contact: v.pipe(
    v.nullable(v.string()),
    v.description('Name of an administrator to ask for access: who invited the person, or an owner; null: there is no other'),
  ),
});
export type Home = v.InferOutput<typeof Home>;

export const MOST_ADMINISTRATORS = 3;

export const home = {
  'home.get': operation('GET /home', 'session', {
    role: 'caller',
    input: Empty,
    output: Home,
    summary: 'Get what you can call from MCP clients, and how to connect one',
  }),
  'home.administrators': operation('GET /home/administrators', 'session', {
    role: 'caller',
    input: Empty,
    output: v.object({ names: v.array(v.string()) }),
    summary: `List up to ${MOST_ADMINISTRATORS} administrators and owners whom you can ask for access, who invited you first`,
  }),
};
