import { Database } from 'bun:sqlite';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Installation, installationHeaders } from '#core/contract/deploy/installation.ts';
import type { Parameter } from '#core/contract/definitions/parameters.ts';
import type { ReturnType } from '#core/contract/definitions/tools.ts';
import { inputSchema } from '#core/query/arguments.ts';
import { outputSchema } from '#core/query/shape.ts';
import type { LogLine } from '#core/process/log.ts';
import { engineOf } from '#core/engines/index.ts';
import type { Column } from '#core/lib/sql/result.ts';
import type { Host } from '#mcp-host/host.ts';
import type { HostOptions } from '#mcp-host/host-options.ts';
import {
  type FrozenConnection,
  type FrozenPrompt,
  type FrozenResource,
  type FrozenServer,
  type FrozenTool,
  SNAPSHOT_FORMAT,
  type Snapshot,
  type SnapshotContent,
} from '#snapshots/format/format.ts';
import { toBlobs, toTree } from '#snapshots/format/tree.ts';
import type { HostHealth } from '#mcp-host/observe/health.ts';
import { setClocks, startDenoHost } from '#test/mcp-host/deno-host.ts';
import { makeHost, TOKEN } from '#test/mcp-host/make-host.ts';
import { newsOf } from '#test/mcp-host/snapshot-forms.ts';
import { on_deno } from '#test/support/deno.ts';
import type { RunningCall } from '#core/contract/observe/usage-batch.ts';
import { type Call, callsOf } from '#test/support/usage.ts';
import { parseSql } from '#test/support/sql.ts';

/** A folder with a SQLite database, removed at the end. */
export function sqliteFolder(): { directory: string; file: string; remove: () => void } {
  const directory = mkdtempSync(join(tmpdir(), 'sluice-host-'));
  const file = join(directory, 'shop.sqlite');
  const db = new Database(file, { create: true });
  db.run('create table customers (id integer primary key, name text not null, score real)');
  db.run("insert into customers values (1, 'Ada', 1.5), (2, 'Grace', null), (3, 'Edsger', 3)");
  db.close();
  return { directory, file, remove: () => rmSync(directory, { recursive: true, force: true }) };
}

export { authSettings, KEY, keyring, TOKEN } from './make-host.ts';

let connections = 0;
/** A frozen connection; its pool key is new unless given. */
export const connectionOf = (more: Partial<FrozenConnection>): FrozenConnection => ({
  id: crypto.randomUUID(),
  name: 'shop',
  db_type: 'sqlite',
  host: null,
  port: null,
  database: 'shop.sqlite',
  username: null,
  password: null,
  ssl_mode: null,
  ssl_ca: null,
  ssl_cert: null,
  ssl_key: null,
  extra_params: {},
  read_only: false,
  pool_size: 4,
  max_concurrency: 4,
  queue_limit: 100,
  queue_timeout_ms: 5_000,
  pool_key: `sha256:${++connections}`,
  ...more,
});

/** The database of `sqliteFolder`, for tests that need no other settings. */
export const connection = connectionOf({});

type Draft = Partial<FrozenTool> & { parameters?: Parameter[]; columns?: Column[]; return_type?: ReturnType };

export function toolOf(connection: FrozenConnection, name: string, sql: string, more: Draft = {}): FrozenTool {
  const { columns = null, parameters = [], return_type = 'rows', transform_template = null, ...rest } = more;
  const output_schema = outputSchema(return_type, columns, transform_template !== null);
  return {
    ...queryOf(connection, name, sql, parameters),
    return_type,
    transform_template,
    cache_ttl_seconds: 0,
    tags: [],
    listing: {
      name,
      description: `The tool ${name}`,
      inputSchema: inputSchema(parameters),
      ...(output_schema && { outputSchema: output_schema }),
      annotations: { readOnlyHint: true },
    },
    ...rest,
  };
}

const queryOf = (connection: FrozenConnection, name: string, sql: string, parameters: readonly Parameter[]) => ({
  id: crypto.randomUUID(),
  name,
  connection_id: connection.id,
  statement: parseSql(sql, engineOf(connection.db_type).dialect.name, parameters),
  mode: 'read' as const,
  parameters,
  timeout_ms: 10_000,
  max_rows: 1_000,
  max_bytes: 4 * 1024 * 1024,
});

export function resourceOf(
  connection: FrozenConnection,
  uri_template: string,
  sql: string,
  more: Partial<FrozenResource> = {},
): FrozenResource {
  const name = more.name ?? 'resource';
  const has_variables = uri_template.includes('{');
  const { parameters = [], mime_type = 'application/json' } = more;
  return {
    ...queryOf(connection, name, sql, parameters),
    uri_template,
    mime_type,
    transform_template: null,
    listing: { name, mimeType: mime_type, [has_variables ? 'uriTemplate' : 'uri']: uri_template },
    ...more,
  };
}

export const promptOf = (name: string, template: string, args: FrozenPrompt['arguments'] = []): FrozenPrompt => ({
  id: crypto.randomUUID(),
  name,
  arguments: args,
  messages: [{ role: 'user', template }],
  listing: { name, description: `The prompt ${name}`, arguments: args.map(({ name, required }) => ({ name, required })) },
});

export const parameterOf = (name: string, type: Parameter['type'], more: Partial<Parameter> = {}): Parameter => ({
  name,
  type,
  description: '',
  required: true,
  ...more,
});

export function snapshotOf(
  version: number,
  content: Partial<Omit<SnapshotContent, 'server'>> & { server?: Partial<FrozenServer> } = {},
): Snapshot {
  const whole: SnapshotContent = {
    format: SNAPSHOT_FORMAT,
    connections: [],
    tools: [],
    resources: [],
    prompts: [],
    toolsets: [],
    ...content,
    server: {
      server_name: 'Shop',
      transport: 'http',
      host: '127.0.0.1',
      port: 0,
      log_level: 'DEBUG',
      otel_enabled: false,
      auth_type: 'none',
      oauth_clients: [],
      token_ttl_seconds: 3600,
      introspection_url: null,
      introspection_client_id: null,
      introspection_client_secret: null,
      introspection_cache_ttl_seconds: 60,
      cors_origins: ['http://localhost:5173'],
      global_variables: {},
      ...content.server,
    },
  };
  return { version, checksum: toTree(toBlobs(whole)).checksum, created_at: '2026-01-01T00:00:00.000Z', content: whole };
}

export interface Ack {
  readonly version: number | null;
  readonly checksum: string | null;
  readonly load_ms: number | null;
  readonly error: string | null;
  readonly url: string | null;
  readonly request_id: string | null;
}

const isWhole = (data: object): data is Snapshot => 'content' in data;

/** The server's end of the control channel, spoken by the test. */
export interface ControlServer {
  readonly url: string;
  readonly acks: Ack[];
  /** Batches, with their calls as records. */
  readonly usage: { seq: number; items: Call[]; running?: readonly RunningCall[] }[];
  /** The `have` of every connection so far. */
  readonly haves: string[];
  /** The id of every connection so far. */
  readonly ids: string[];
  /** Starts of hosts that said that they end. */
  readonly left: string[];
  send(event: string, data: object): void;
  /** Sends it to every host and answers the acknowledgement. */
  deploy(snapshot: Snapshot): Promise<Ack>;
  nextAck(): Promise<Ack>;
  /** Answers every request with this status until it is null again. */
  fail(status: number | null): void;
  /** From now on acknowledgements arrive, and nothing answers them. */
  hang(): void;
  /** Sent first to every host that connects. */
  greeting: { event: string; data: object } | null;
  /** What it says of itself to every host that connects; null: nothing, as an earlier release. */
  installation: Installation | null;
  stop(): Promise<void>;
}

export function controlServer(port = 0): ControlServer {
  const encoder = new TextEncoder();
  const streams = new Set<ReadableStreamDefaultController<Uint8Array>>();
  const acks: Ack[] = [];
  const usage: ControlServer['usage'] = [];
  const haves: string[] = [];
  const ids: string[] = [];
  const left: string[] = [];
  let waiting: ((ack: Ack) => void)[] = [];
  let failing: number | null = null;
  let hanging = false;
  const write = (controller: ReadableStreamDefaultController<Uint8Array>, event: string, data: object) =>
    controller.enqueue(encoder.encode(`event: ${event}\ndata: ${JSON.stringify(isWhole(data) ? newsOf(data) : data)}\n\n`));

  const server = Bun.serve({
    hostname: '127.0.0.1',
    port,
    idleTimeout: 0,
    async fetch(request) {
      const { pathname, searchParams } = new URL(request.url);
      if (failing !== null) return new Response('', { status: failing });
      if (request.headers.get('x-service-token') !== TOKEN) return Response.json({ detail: 'no' }, { status: 401 });
      if (pathname === '/api/internal/hosts/stream') {
        haves.push(searchParams.get('have') ?? '');
        ids.push(searchParams.get('id') ?? '');
        let mine: ReadableStreamDefaultController<Uint8Array>;
        const body = new ReadableStream<Uint8Array>({
          start(controller) {
            mine = controller;
            streams.add(controller);
            write(controller, 'ping', {});
            if (control.greeting !== null) write(controller, control.greeting.event, control.greeting.data);
          },
          cancel: () => void streams.delete(mine),
        });
        const said = control.installation === null ? {} : installationHeaders(control.installation);
        return new Response(body, { headers: { ...said, 'content-type': 'text/event-stream' } });
      }
      const body = await request.json();
      if (pathname.endsWith('/usage')) usage.push({ ...body, items: callsOf(body) });
      if (pathname.endsWith('/leave')) left.push(body.boot_id);
      if (pathname.endsWith('/ack')) {
        acks.push(body);
        for (const resolve of waiting) resolve(body);
        waiting = [];
        if (hanging) await new Promise(() => undefined);
      }
      return new Response(null, { status: 204 });
    },
  });
  const control: ControlServer = {
    url: `http://127.0.0.1:${server.port}`,
    acks,
    usage,
    haves,
    ids,
    left,
    greeting: null,
    installation: null,
    send(event, data) {
      for (const controller of streams) write(controller, event, data);
    },
    deploy(snapshot) {
      const ack = control.nextAck();
      control.send('snapshot', snapshot);
      return ack;
    },
    nextAck: () => new Promise((resolve) => waiting.push(resolve)),
    fail: (status) => {
      failing = status;
    },
    hang() {
      hanging = true;
    },
    stop: () => server.stop(true),
  };
  return control;
}

export interface TestHost {
  /** Where it runs in this process. */
  readonly host: Host;
  readonly log: LogLine[];
  /** URL of the MCP endpoint. */
  readonly mcp: URL;
  health(): Promise<HostHealth>;
  stop(): Promise<void>;
}

/** A host as `main.ts` starts it: in this process, or on Deno where the tests are run that way. */
export async function testHost(directory: string, control_url: string, more: Partial<HostOptions> = {}): Promise<TestHost> {
  if (on_deno) {
    const log: LogLine[] = [];
    const program = await startDenoHost(directory, control_url, log, more);
    return {
      get host(): Host {
        throw new Error('A host on Deno is in another process.');
      },
      log,
      get mcp() {
        return mcpOf(program.url());
      },
      health: () => program.health(),
      stop: () => program.stop(100),
    };
  }
  return hostHere(directory, control_url, more);
}

/** The same in this process, wherever the others run: functions are among its options. */
export async function hostHere(directory: string, control_url: string, more: Partial<HostOptions>): Promise<TestHost> {
  const log: LogLine[] = [];
  const host = makeHost(directory, control_url, (line) => log.push(line), more);
  await host.start();
  return {
    host,
    log,
    get mcp() {
      return mcpOf(host.url());
    },
    health: () => Promise.resolve(host.health()),
    stop: () => host.stop(100),
  };
}

const mcpOf = (url: string | null): URL => new URL('/mcp', url ?? 'http://not-listening');

export interface RpcAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: { result?: Record<string, unknown>; error?: { code: number; message: string; data?: unknown }; id?: unknown };
}

/** One raw POST; a legacy request unless the envelope is asked for. */
export async function rpc(url: URL, message: object, headers: Record<string, string> = {}): Promise<RpcAnswer> {
  setClocks();
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
    body: JSON.stringify({ jsonrpc: '2.0', ...message }),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: text === '' ? {} : (JSON.parse(text) as RpcAnswer['body']) };
}

export const ENVELOPE = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
};

/** One raw POST of the stateless revision with all its headers. */
export function modern(
  url: URL,
  method: string,
  params: Record<string, unknown> = {},
  headers: Record<string, string> = {},
): Promise<RpcAnswer> {
  const name = params['name'] ?? params['uri'];
  return rpc(
    url,
    { id: 1, method, params: { ...params, _meta: ENVELOPE } },
    {
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      ...(typeof name === 'string' && { 'mcp-name': name }),
      ...headers,
    },
  );
}

/** Calls a tool by a raw POST of the stateless revision. */
export const callTool = (mcp: URL, name: string, args: object = {}, headers: Record<string, string> = {}): Promise<RpcAnswer> =>
  modern(mcp, 'tools/call', { name, arguments: args }, headers);

/** The text of an answer to `tools/call`, or the message of its error. */
export const textOf = ({ body }: RpcAnswer): string => {
  const content = body.result?.['content'] as { text: string }[] | undefined;
  return content?.map(({ text }) => text).join('\n') ?? body.error?.message ?? '';
};
