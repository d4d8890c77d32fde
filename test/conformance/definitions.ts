import { Database } from 'bun:sqlite';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Programs } from '#test/support/programs.ts';

/** A transparent pixel, and a WAV file of no length. */
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const WAV = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA=';

const parameter = (name: string, more: object = {}) => ({ name, type: 'string', description: `The ${name}`, ...more });

/** Asks before it writes. */
const ASKS = { return_type: 'text', sql_query: "insert into log values ('state-ok') returning text", confirm: 'always' };

/** What the suite expects a server to offer, as SQL over a database. */
const TOOLS = [
  { name: 'test_simple_text', return_type: 'text', sql_query: "select 'This is a simple text response for testing.'" },
  { name: 'test_image_content', return_type: 'image', sql_query: "select bytes, mime_type from files where name = 'image'" },
  { name: 'test_audio_content', return_type: 'audio', sql_query: "select bytes, mime_type from files where name = 'audio'" },
  {
    name: 'test_error_handling',
    return_type: 'text',
    sql_query: "select json('This tool intentionally returns an error for testing')",
  },
  { name: 'test_tool_with_progress', return_type: 'text', sql_query: "select 'done'" },
  { name: 'test_tool_with_logging', return_type: 'text', sql_query: "select 'done'" },
  ...[
    'test_input_required_result_elicitation',
    'test_input_required_result_request_state',
    'test_input_required_result_tampered_state',
    'test_missing_capability',
    'test_streaming_elicitation',
  ].map((name) => ({ ...ASKS, name })),
  {
    ...ASKS,
    name: 'test_elicitation',
    sql_query: 'insert into log values (:message) returning text',
    parameters: [{ name: 'message', type: 'string', description: 'The message' }],
  },
  {
    name: 'test_input_required_result_multi_round',
    return_type: 'text',
    sql_query: "select :name || ' likes ' || :color as text",
    parameters: ['name', 'color'].map((name) => parameter(name, { required: true })),
    ask_missing: true,
  },
  { name: 'test_logging_tool', return_type: 'text', sql_query: "select 'done'" },
  {
    name: 'add_numbers',
    return_type: 'value',
    sql_query: 'select :a + :b as sum',
    parameters: [
      { name: 'a', type: 'number', description: 'First number' },
      { name: 'b', type: 'number', description: 'Second number' },
    ],
  },
];

const RESOURCES = [
  {
    name: 'static_text',
    uri_template: 'test://static-text',
    mime_type: 'text/plain',
    sql_query: "select 'This is the content of the static text resource.'",
  },
  {
    name: 'static_binary',
    uri_template: 'test://static-binary',
    mime_type: 'image/png',
    sql_query: "select bytes from files where name = 'image'",
  },
  {
    name: 'template',
    uri_template: 'test://template/{id}/data',
    mime_type: 'application/json',
    sql_query: "select :id as id, 1 as templateTest, 'Data for ID: ' || :id as data",
  },
  {
    name: 'watched_resource',
    uri_template: 'test://watched-resource',
    mime_type: 'text/plain',
    sql_query: "select 'Watched resource content'",
  },
];

const PROMPTS = [
  { name: 'test_simple_prompt', template: 'This is a simple prompt for testing.' },
  {
    name: 'test_prompt_with_arguments',
    template: "Prompt with arguments: arg1='{{ arg1 }}', arg2='{{ arg2 }}'",
    arguments: [
      { name: 'arg1', description: 'First test argument', required: true },
      { name: 'arg2', description: 'Second test argument', required: true },
    ],
  },
];

/** Defines all of it through the REST API, over a SQLite database, and deploys it. */
export async function deployDefinitions(programs: Programs): Promise<void> {
  await programs.signIn();
  const folder = join(programs.directory, 'databases');
  mkdirSync(folder, { recursive: true });
  const database = new Database(join(folder, 'conformance.sqlite'), { create: true });
  database.run('create table files (name text primary key, mime_type text not null, bytes blob not null)');
  database.run('create table log (text text not null)');
  const insert = database.prepare('insert into files values (?, ?, ?)');
  insert.run('image', 'image/png', Buffer.from(PNG, 'base64'));
  insert.run('audio', 'audio/wav', Buffer.from(WAV, 'base64'));
  database.close();

  const connection = await programs.api<{ id: string }>('POST', '/connections', {
    name: 'conformance',
    db_type: 'sqlite',
    database: 'conformance.sqlite',
  });
  const owned = { connection_id: connection.id };
  for (const tool of TOOLS) await programs.api('POST', '/tools', { ...owned, description: `Tests ${tool.name}`, ...tool });
  for (const resource of RESOURCES) {
    const variables = [...resource.uri_template.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => parameter(name));
    const body = { ...owned, description: `Tests ${resource.name}`, parameters: variables, ...resource };
    await programs.api('POST', '/resources', body);
  }
  for (const prompt of PROMPTS) await programs.api('POST', '/prompts', { description: `Tests ${prompt.name}`, ...prompt });
  await programs.api('PATCH', '/server/config', { host: '127.0.0.1' });
  await programs.api('POST', '/deploy', {});
}
