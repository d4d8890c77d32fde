import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { runCli } from '#server/cli/program.ts';
import { type Stage, stage } from '#test/server/deploy/candidate-support.ts';

export const PATH = '/.well-known/mcp-definitions';
export const KEYS_PATH = '/.well-known/mcp-definitions-keys';

/** What a host answers at `PATH`. */
export interface SignedBody {
  snapshot_version: number;
  checksum: string;
  definitions: Record<string, string>;
  listings: Record<string, string>;
  root: string;
  size: number;
  proof?: { at: number[]; hidden: string[] };
  list?: string;
  issued_at?: string;
  expires_at?: string;
  kid?: string;
  signature?: string;
}

/** A server with three tools, a resource, a prompt and a toolset, whose clock is that of this machine, and a host. */
export async function signedStage(variables: Record<string, string> = {}): Promise<Stage> {
  const s = await stage(variables);
  s.t.advance(Date.now() - s.t.app.clock().getTime());
  await s.t.signIn();
  const connection_id = (await s.t.call('connections.list', {})).items[0]?.id ?? '';
  await s.t.call('tools.create', {
    connection_id,
    name: 'largest',
    description: 'The largest order',
    sql_query: 'select max(total) as total from orders',
    tags: ['sales'],
  });
  await s.t.call('tools.create', {
    connection_id,
    name: 'add_order',
    description: 'Adds an order',
    sql_query: 'insert into orders (total) values (:total)',
    parameters: [{ name: 'total', type: 'integer' }],
    read_only: false,
    confirm: 'always',
    two_step: true,
  });
  await s.t.call('resources.create', {
    connection_id,
    name: 'order',
    description: 'One order',
    uri_template: 'shop://orders/{id}',
    sql_query: 'select * from orders where id = :id',
    parameters: [{ name: 'id', type: 'integer' }],
  });
  await s.t.call('prompts.create', { name: 'greet', description: 'Greets', template: 'Hello' });
  await s.t.call('toolsets.create', {
    name: 'sales',
    description: 'For sales',
    include: { tags: ['sales'] },
    find_tools: true,
  });
  await s.t.call('deploy.run', {});
  return s;
}

/** `sluice verify` of a lock file in a folder of its own. */
export function verifier() {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-verify-'));
  return {
    file: (name: string) => join(folder, name),
    verify: async (lock: string, ...args: string[]) => {
      let [out, err] = ['', ''];
      const code = await runCli(['verify', join(folder, lock), ...args], {
        environment: {},
        stdin: Readable.from([]),
        out: (text) => void (out += text),
        err: (text) => void (err += text),
      });
      return { code, out, err };
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** What a host answers, about definitions or to a list of the protocol. */
type IntermediateBody = SignedBody & { readonly result?: { readonly tools?: readonly ListedTool[] } };
export type ListedTool = { readonly name: string; readonly description: string };
type Change = (path: string, body: IntermediateBody) => unknown;

/** Somebody between a client and a host, who changes what the host answers. */
export function interceptor(target: URL) {
  let change: Change = (_, body) => body;
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      const { pathname } = new URL(request.url);
      const headers = new Headers(request.headers);
      headers.delete('host');
      const body = request.method === 'POST' ? { body: await request.text() } : {};
      const answer = await fetch(`${target.origin}${pathname}`, { method: request.method, headers, ...body });
      return Response.json(change(pathname, (await answer.json()) as IntermediateBody), { status: answer.status });
    },
  });
  return {
    url: `http://127.0.0.1:${server.port}`,
    /** Changes bodies from now on, by the path of the request. */
    use(next: Change) {
      change = next;
    },
    stop: () => server.stop(true),
  };
}
