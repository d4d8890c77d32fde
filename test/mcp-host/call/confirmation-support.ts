import { afterAll, afterEach, beforeAll, beforeEach } from 'bun:test';
import mysql from 'mysql2/promise';
import { mkdirSync, rmSync } from 'node:fs';
import { Database } from 'bun:sqlite';
import { join } from 'node:path';
import type { FrozenConnection, FrozenTool } from '#snapshots/format/format.ts';
import { reachable, type TestDatabase, testDatabase } from '#test/support/databases.ts';
import type { HostOptions } from '#mcp-host/host-options.ts';
import {
  connectionOf,
  type ControlServer,
  controlServer,
  ENVELOPE,
  keyring,
  modern,
  parameterOf,
  type RpcAnswer,
  snapshotOf,
  sqliteFolder,
  testHost,
  type TestHost,
  toolOf,
} from '../support.ts';
import { until } from '#test/support/until.ts';

/** A database with a parent whose deletes cascade, or whose triggers write, and what tests look at beside the host. */
export interface WrittenDatabase {
  readonly connection: FrozenConnection;
  run(text: string): Promise<Record<string, unknown>[]>;
  drop(): Promise<void>;
}

const SCHEMA = [
  'create table orders (id integer primary key, state varchar(20) not null)',
  'create table items (id integer primary key, order_id integer not null references orders(id) on delete cascade)',
  'create table notes (id integer primary key, text varchar(40) not null)',
  'create table audits (text varchar(40))',
  "insert into orders values (1, 'old'), (2, 'old'), (3, 'old'), (4, 'new')",
  'insert into items values (1, 1), (2, 1), (3, 2)',
  "insert into notes values (1, 'a'), (2, 'b')",
];

export type Kind = 'postgresql' | 'mysql' | 'sqlite';
export const KINDS: readonly { readonly kind: Kind; readonly up: boolean }[] = [
  { kind: 'postgresql', up: reachable.postgres },
  { kind: 'mysql', up: reachable.mysql },
  { kind: 'sqlite', up: true },
];

const TRIGGER: Readonly<Record<Kind, readonly string[]>> = {
  postgresql: [
    "create function note_gone() returns trigger language plpgsql as $$ begin insert into audits values ('gone'); return null; end $$",
    'create trigger gone after delete on notes for each row execute function note_gone()',
  ],
  mysql: ["create trigger gone after delete on notes for each row insert into audits values ('gone')"],
  sqlite: ["create trigger gone after delete on notes begin insert into audits values ('gone'); end"],
};

export async function writtenDatabase(kind: Kind, folder: ReturnType<typeof sqliteFolder>): Promise<WrittenDatabase> {
  const made = kind === 'sqlite' ? sqliteDatabase(folder) : await serverDatabase(kind);
  for (const text of [...SCHEMA, ...TRIGGER[kind]]) {
    // MySQL reads over a REFERENCES that stands beside its column.
    const cascading = text.replace(
      'order_id integer not null references orders(id) on delete cascade',
      'order_id integer not null, foreign key (order_id) references orders(id) on delete cascade',
    );
    await made.run(kind === 'mysql' ? cascading : text);
  }
  return made;
}

function sqliteDatabase({ directory }: ReturnType<typeof sqliteFolder>): WrittenDatabase {
  const name = `${crypto.randomUUID()}.sqlite`;
  const file = join(directory, name);
  const db = new Database(file, { create: true });
  return {
    connection: connectionOf({ database: name }),
    run: async (text) => db.query<Record<string, unknown>, []>(text).all(),
    async drop() {
      db.close();
      rmSync(file);
    },
  };
}

async function serverDatabase(kind: 'postgresql' | 'mysql'): Promise<WrittenDatabase> {
  const database: TestDatabase = await testDatabase(kind);
  const { password, ...settings } = database.settings;
  // Databases of other tests have tables that cannot be rolled back; an account of its own sees only its own.
  const own = kind === 'mysql' ? await ownAccount(settings.database) : null;
  const draft = connectionOf({
    ...settings,
    ...(own && { username: own.name }),
    name: 'db',
    ssl_key: null,
    ssh: null,
    password: null,
  });
  const $sealed = keyring.seal(own?.password ?? password ?? '', `connection/${draft.id}/password`);
  return {
    connection: { ...draft, password: { $sealed } },
    run: (text) => database.run(text),
    async drop() {
      await own?.drop();
      await database.drop();
    },
  };
}

async function ownAccount(database: string) {
  const name = `c_${crypto.randomUUID().slice(0, 8)}`;
  const password = 'confirm-0123456789';
  const admin = await mysql.createConnection({ host: '127.0.0.1', port: 3306, user: 'root', password: '' });
  await admin.query(`create user '${name}'@'%' identified by '${password}'`);
  await admin.query(`grant all on ${database}.* to '${name}'@'%'`);
  return {
    name,
    password,
    async drop() {
      await admin.query(`drop user '${name}'@'%'`);
      await admin.end();
    },
  };
}

/** A host for the tests of one block, connected to what deploys to it. */
export function askingHost(more: Partial<HostOptions> = {}) {
  const folder = sqliteFolder();
  let control: ControlServer | undefined;
  let host: TestHost | undefined;
  beforeAll(async () => {
    const server = controlServer();
    control = server;
    host = await testHost(folder.directory, server.url, more);
    await until(() => host?.host.health().control.connected);
  });
  afterAll(async () => {
    await host?.stop();
    await control?.stop();
    folder.remove();
  });
  const there = <T>(part: T | undefined): T => {
    if (part === undefined) throw new Error('The host is not there yet.');
    return part;
  };
  return {
    get control() {
      return there(control);
    },
    get mcp() {
      return there(host).mcp;
    },
    /** A database of each test. */
    database(kind: Kind, prepare: (database: WrittenDatabase) => unknown = () => {}) {
      let made: WrittenDatabase | undefined;
      beforeEach(async () => {
        made = await writtenDatabase(kind, folder);
        await prepare(made);
      });
      afterEach(() => made?.drop());
      return () => there(made);
    },
  };
}

/** Two hosts of one installation that serve the same snapshot. @param ends what is to be ended after the test. */
export async function hostsServing(
  { directory }: ReturnType<typeof sqliteFolder>,
  ends: (() => unknown)[],
  more: (name: string) => Partial<HostOptions>,
  content: Parameters<typeof snapshotOf>[1],
) {
  const hosts: { readonly host: TestHost; readonly control: ControlServer }[] = [];
  for (const name of ['one', 'two']) {
    const control = controlServer();
    mkdirSync(join(directory, name), { recursive: true });
    const host = await testHost(directory, control.url, { names_path: join(directory, name, 'names.json'), ...more(name) });
    ends.push(
      () => control.stop(),
      () => host.stop(),
    );
    await until(() => host.host.health().control.connected);
    await control.deploy(snapshotOf(1, content));
    hosts.push({ host, control });
  }
  const [one, two] = hosts;
  if (one === undefined || two === undefined) throw new Error('there are two');
  return { one, two };
}

/** A tool that writes; deleting notes by default. */
export const writingTool = (
  connection: FrozenConnection,
  name: string,
  more: Omit<Partial<FrozenTool>, 'parameters'> & { readonly sql?: string } = {},
): FrozenTool => {
  const { sql = 'delete from notes where id <= :id', ...rest } = more;
  const parameters = sql.includes(':id') ? [parameterOf('id', 'integer')] : [];
  return toolOf(connection, name, sql, { mode: 'write', parameters, ...rest });
};

export const FORMS = { ...ENVELOPE, 'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {} } } };

interface Asking {
  readonly arguments?: Record<string, unknown>;
  readonly more?: Record<string, unknown>;
  readonly headers?: Record<string, string>;
  /** Without it the client says that it shows forms. */
  readonly envelope?: object;
}

/** One `tools/call` of the stateless revision. */
export const ask = (
  url: URL,
  name: string,
  { arguments: args = { id: 1 }, more = {}, headers = {}, envelope = FORMS }: Asking = {},
) => fetchCall(url, { name, arguments: args, ...more, _meta: envelope }, headers);

async function fetchCall(url: URL, params: Record<string, unknown>, headers: Record<string, string>): Promise<RpcAnswer> {
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': String(params['name']),
      ...headers,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
  });
  return { status: response.status, headers: response.headers, body: (await response.json()) as RpcAnswer['body'] };
}

interface Question {
  readonly state: string;
  readonly message: string;
  readonly schema: unknown;
}
export function questionIn({ body }: RpcAnswer): Question {
  const result = body.result ?? {};
  if (result['resultType'] !== 'input_required') throw new Error(`No question was asked: ${JSON.stringify(body)}`);
  const { confirm } = result['inputRequests'] as { confirm: { method: string; params: Record<string, unknown> } };
  return {
    state: String(result['requestState']),
    message: String(confirm.params['message']),
    schema: confirm.params['requestedSchema'],
  };
}

export const yes = (state: string) => ({
  requestState: state,
  inputResponses: { confirm: { action: 'accept', content: { ok: true } } },
});
export { modern };
