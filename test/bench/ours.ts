import { pidOf, pidsBelow, measureTree, type Tree } from './machine.ts';
import type { Offer, Target } from './target.ts';
import { type BenchDatabase, POOL } from './workload.ts';
import { type Programs, removeFolder, startPrograms } from '#test/support/programs.ts';

export interface Ours extends Target {
  readonly programs: Programs;
  readonly connection_id: string;
  readonly server_pid: number;
  readonly host_pid: number;
  /** Of a caller that is limited to a toolset of all the tools; null without `toolset`. */
  readonly limited: Readonly<Record<string, string>> | null;
  /** The host alone, without the server that keeps its log of calls and the agent. */
  measureHost(): Tree;
}

export interface OursOptions extends Offer {
  readonly bearer: boolean;
  /** Deploys a toolset of all the tools, and makes a token that is limited to it. */
  readonly toolset?: boolean;
  readonly env?: Record<string, string>;
}

export const QUIET = { SVC_DEMO: 'false', SVC_LOG_LEVEL: 'WARNING' } as const;

/** The product as `npm start` runs it: deployed over REST, with usage on. */
export async function startOurs(database: BenchDatabase, options: OursOptions): Promise<Ours> {
  const programs = await startPrograms({ env: { ...QUIET, ...options.env } });
  const { connection_id, headers, limited } = await configure(programs, database, options);
  const pids = pidsBelow(programs.process.pid);
  const host = pidOf(pids, 'mcp-host/main.ts') ?? programs.process.pid;
  return {
    name: 'Sluice',
    url: programs.mcp_url,
    headers,
    programs,
    connection_id,
    server_pid: pidOf(pids, 'run-server.ts') ?? programs.process.pid,
    host_pid: host,
    limited,
    measure: () => measureTree(pids),
    measureHost: () => measureTree([host]),
    async stop() {
      await programs.stop();
      removeFolder(programs);
    },
  };
}

/** Connection, tools and callers of the offer, deployed over REST. */
export async function configure(
  programs: Programs,
  database: BenchDatabase,
  options: OursOptions,
): Promise<Pick<Ours, 'connection_id' | 'headers' | 'limited'>> {
  await programs.signIn();
  const { id: connection_id } = await programs.api<{ id: string }>('POST', '/connections', {
    name: 'bench',
    db_type: 'postgresql',
    host: database.host,
    port: database.port,
    database: database.name,
    username: database.user,
    ssl_mode: 'disable',
    pool_size: POOL,
    max_rows: 10_000,
    max_bytes: 16 * 1024 * 1024,
  });
  for (const { name, title, sql } of options.tools) {
    await programs.api('POST', '/tools', {
      connection_id,
      name,
      description: `Orders: ${title}`,
      sql_query: sql,
      parameters: [{ name: 'start', type: 'integer', description: 'First order' }],
    });
  }
  await addFiller(programs, connection_id, options.filler ?? 0);
  let headers: Record<string, string> = {};
  if (options.bearer) {
    await programs.api('PATCH', '/server/config', { auth_type: 'bearer' });
    const { token } = await programs.api<{ token: string }>('POST', '/mcp-tokens', { name: 'bench', all_toolsets: true });
    headers = { authorization: `Bearer ${token}` };
  }
  const limited = options.toolset === true ? await limitedHeaders(programs, connection_id) : null;
  await programs.api('POST', '/deploy', {});
  return { connection_id, headers, limited };
}

async function limitedHeaders(programs: Programs, connection_id: string): Promise<Record<string, string>> {
  await programs.api('POST', '/toolsets', { name: 'bench', include: { connection_ids: [connection_id] } });
  const { token } = await programs.api<{ token: string }>('POST', '/mcp-tokens', { name: 'limited', toolsets: ['bench'] });
  return { authorization: `Bearer ${token}` };
}

/** Tools for long lists, sent as an import, which is one transaction. */
export async function addFiller(programs: Programs, connection_id: string, count: number): Promise<void> {
  for (let n = 0; n < count; n++) await programs.api('POST', '/tools', fillerTool(connection_id, n));
}

export const fillerTool = (connection_id: string, n: number): Record<string, unknown> => ({
  connection_id,
  name: `filler_${n}`,
  description: `Orders of the customer, variation ${n}`,
  sql_query: `select id, amount from orders where customer_id = :customer and ${n} = ${n} limit 10`,
  parameters: [{ name: 'customer', type: 'integer', description: 'Number of the customer' }],
});
