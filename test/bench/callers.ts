import type { BesideOptions } from './beside.ts';
import { startOurs } from './ours.ts';
import { digits, median, ratioGate, type Section, table } from './report.ts';
import { type BenchDatabase, TOOLS } from './workload.ts';
import { runWrk } from './wrk.ts';

const PLAIN = TOOLS.lookup.name;
const VALUES = 'order_of_caller';
const SESSION = 'order_of_session';
const NAMES = [PLAIN, VALUES, SESSION];

/** What a point lookup costs more when it depends on who calls. */
export async function measureCallers(database: BenchDatabase, { rounds, seconds, say }: BesideOptions): Promise<Section> {
  const ours = await startOurs(database, { tools: [TOOLS.lookup], bearer: true, env: { SVC_KV: 'memory' } });
  const us = new Map<string, number[]>(NAMES.map((name) => [name, []]));
  try {
    const { programs, connection_id, url } = ours;
    const { host, port, name, user } = database;
    const told = await programs.api<{ id: string }>('POST', '/connections', {
      name: 'told',
      db_type: 'postgresql',
      host,
      port,
      database: name,
      username: user,
      ssl_mode: 'disable',
      session_values: [
        { name: 'app.sub', from: 'caller.sub' },
        { name: 'app.groups', from: 'caller.groups' },
        { name: 'app.tenant', from: 'caller.claims.tenant' },
      ],
    });
    const start = { name: 'start', type: 'integer', description: 'First order' };
    await programs.api('POST', '/tools', {
      connection_id,
      name: VALUES,
      description: 'One order, masked',
      sql_query: `${TOOLS.lookup.sql} and currency = :currency`,
      parameters: [start, { name: 'currency', type: 'string', from: 'caller.claims.currency' }],
      masks: [
        { column: 'note', mask: 'text' },
        { column: 'amount', mask: 'last4', unless_groups: ['staff'] },
      ],
    });
    const lookup = { connection_id: told.id, name: SESSION, description: 'One order', sql_query: TOOLS.lookup.sql };
    await programs.api('POST', '/tools', { ...lookup, parameters: [start] });
    await programs.api('POST', '/deploy', {});
    const claims = { sub: 'ada', groups: ['sales', 'support'], tenant: 'acme', currency: 'EUR' };
    const { token } = await programs.api<{ token: string }>('POST', '/mcp-tokens', {
      name: 'caller',
      claims,
      all_toolsets: true,
    });
    const headers = { authorization: `Bearer ${token}` };
    // The first round warms up.
    for (let round = 0; round < rounds + 1; round++) {
      for (const tool of round % 2 === 0 ? NAMES : NAMES.toReversed()) {
        const { rps, errors } = await runWrk({ url, headers, tool, span: database.rows - 20_000, connections: 64, seconds });
        if (errors > 0) throw new Error(`${tool}: ${errors} calls failed.`);
        if (round > 0) us.get(tool)?.push(1e6 / rps);
      }
    }
  } finally {
    await ours.stop();
  }
  const of = (name: string): number => median(us.get(name) ?? []);
  say('What callers cost done.');
  const bound = 'not established';
  return {
    title: 'Point lookups that depend on who calls',
    text: table(
      ['lookup', 'µs a call, 64 callers'],
      [
        ['plain', digits(of(PLAIN))],
        ['with a value of the caller and two masks', digits(of(VALUES))],
        ['with three session values', digits(of(SESSION))],
      ],
    ),
    gates: [
      ratioGate('point lookup with a value of the caller and masks, to the plain one', of(VALUES), of(PLAIN), '<=', 1.15, bound),
      ratioGate('point lookup with session values, to the plain one', of(SESSION), of(PLAIN), '<=', 1.5, bound),
    ],
  };
}
