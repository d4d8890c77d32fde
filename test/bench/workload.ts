import postgres from 'postgres';

/** The database of the bench and the tools that every target offers on it. */
export interface BenchDatabase {
  readonly name: string;
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly url: string;
  readonly rows: number;
  readonly version: string;
  /** Sessions of others than the bench itself. */
  sessions(): Promise<number>;
  drop(): Promise<void>;
}

const SERVER = { host: '127.0.0.1', port: 5432, user: 'postgres' };

/** Orders of customers, all in the cache of the database. */
export async function createDatabase(rows: number): Promise<BenchDatabase> {
  const name = `sluice_bench_${crypto.randomUUID().slice(0, 8)}`;
  const options = { ...SERVER, username: SERVER.user, max: 1, onnotice: () => {} };
  const admin = postgres({ ...options, database: 'postgres' });
  await admin.unsafe(`create database ${name}`);
  const inside = postgres({ ...options, database: name });
  await inside.unsafe(`
    create table orders (id int primary key, customer_id int not null, status text not null, amount numeric(12,2) not null,
      currency text not null, created_at timestamptz not null, note text);
    insert into orders select n, n % 100000 + 1, (array['new','paid','sent','returned'])[n % 4 + 1], (n % 99999) / 100.0, 'EUR',
      timestamptz '2026-01-01' + n * interval '17 seconds', case when n % 3 = 0 then 'Leave the parcel at the door of number ' || n end
    from generate_series(1, ${rows}) n;
    create index on orders (customer_id);
    create table products (id int primary key, name text, price double precision, shelf int);
    analyze orders`);
  await inside.unsafe('select pg_prewarm($1)', ['orders']).catch(() => inside.unsafe('select count(*), sum(amount) from orders'));
  const [found] = await inside.unsafe(`select current_setting('server_version') as version`);
  return {
    ...SERVER,
    name,
    url: `postgres://${SERVER.user}@${SERVER.host}:${SERVER.port}/${name}`,
    rows,
    version: String(found?.['version']).split(' ', 1)[0] ?? '',
    async sessions() {
      const [row] = await inside.unsafe(
        'select count(*)::int as n from pg_stat_activity where datname = $1 and pid <> pg_backend_pid()',
        [name],
      );
      return Number(row?.['n']);
    },
    async drop() {
      await inside.end();
      await admin.unsafe(`drop database if exists ${name} with (force)`);
      await admin.end();
    },
  };
}

export interface BenchTool {
  readonly name: string;
  readonly title: string;
  /** With `:start` for the one argument, a whole number. */
  readonly sql: string;
  /** Rows of one answer. */
  readonly rows: number;
}

const COLUMNS = 'id, customer_id, status, amount, currency, created_at, note';
export const TOOLS = {
  lookup: { name: 'order_by_id', title: 'point lookup', sql: `select ${COLUMNS} from orders where id = :start`, rows: 1 },
  range: {
    name: 'orders_range',
    title: '50 rows',
    sql: `select ${COLUMNS} from orders where id >= :start order by id limit 50`,
    rows: 50,
  },
  stats: {
    name: 'orders_stats',
    title: 'aggregate',
    sql: 'select status, count(*) as orders, sum(amount) as total, avg(amount) as mean from orders where id between :start and :start + 999 group by status order by status',
    rows: 4,
  },
  large: {
    name: 'orders_large',
    title: '10 000 rows',
    sql: `select ${COLUMNS} from orders where id >= :start order by id limit 10000`,
    rows: 10_000,
  },
} as const satisfies Record<string, BenchTool>;
export type ToolKey = keyof typeof TOOLS;

export const POOL = 4;

/** The text for drivers that count placeholders. */
export const numbered = (sql: string): string => sql.replaceAll(':start', '$1');

/** A message as every client sends it. */
export const callBody = (name: string, start: number | string, id: number | string = 1): string =>
  `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"${name}","arguments":{"start":${start}}}}`;
