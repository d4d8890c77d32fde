import mysql from 'mysql2';
import { openMysql } from '#core/engines/mysql/source.ts';
import { columnRule, type MysqlField, type MysqlValue } from '#core/engines/mysql/values.ts';
import type { BoundType, Json } from '#core/lib/sql/result.ts';
import { atOffset, parseDatetime } from '#core/lib/text/datetimes.ts';
import { localPolicy } from '#test/support/databases.ts';
import { canStartMariadb, startMariadb } from '#test/support/mariadb-server.ts';
import { SETTINGS } from '../clickhouse/fixture.ts';
import type { OracleColumn } from '../oracle/grammar.ts';
import { decimal, listIn, plainText, quoted, scalarOf, withoutLimits } from '../oracle/literals.ts';
import type { Answer, OracleDatabase, OracleDialect } from '../oracle/oracle.ts';
import { runOracle } from '../oracle/suite.ts';

const TYPES = `id int, small smallint, qty int, big bigint, price decimal(10,2), ratio float, score double, name varchar(40), note varchar(40) collate utf8mb4_bin,
  mood enum('sad', 'fine'), flag tinyint(1), day date, seen timestamp(3) null, wall datetime(6), clock time, \`key\` uuid, data json`;
const SCRIPT: readonly string[] = [
  "set time_zone = '+00:00'",
  ...['sample', 'target'].map((table) => `create table ${table} (${TYPES})`),
  `insert into sample values
    (1, 1, 2, 10, 2.50, 0.1, 0.1, 'ann', 'Ann', 'fine', 1, '2026-01-05', '2026-01-05 10:00:00', '2026-01-05 10:00:00', '10:00:00',
      '2c5ea4c0-4067-11e9-8bad-9b1deb4d3b7d', '{"k": [1, 2]}'),
    (2, -3, 9, 9, 19.99, 2.5, 2.5, '2.5', 'bob', 'sad', 0, '2026-02-28', '1999-12-31 23:59:59', '2026-01-05 00:00:00', '23:59:59',
      '00000000-0000-0000-0000-000000000000', '[1, "x", null]'),
    (3, null, null, 9007199254740993, null, null, null, '', null, null, null, null, null, null, null, null, '"text"'),
    (4, 32767, 2147483647, -1, 7, 0.5, 1e21, 'O''Brien', 'ÜNÏ', 'fine', 1, '1999-12-31', '2026-01-05 10:00:00.5', '1999-12-31 23:59:59', '00:00:00',
      null, 'null')`,
];
const COLUMNS: readonly OracleColumn[] = [
  { name: 'small', type: 'integer', values: [1, -3, 32_767] },
  { name: 'qty', type: 'integer', values: [2, 9, 2_147_483_647] },
  { name: 'big', type: 'integer', values: [10, '9007199254740993', -1] },
  { name: 'price', type: 'number', values: [2.5, 19.99, 7] },
  { name: 'ratio', type: 'number', values: [0.1, 2.5, 0.5] },
  { name: 'score', type: 'number', values: [0.1, 2.5, 1e21] },
  { name: 'name', type: 'string', values: ['ANN', '2.5', '', "O'Brien"] },
  { name: 'note', type: 'string', values: ['ann', 'bob'] },
  { name: 'mood', type: 'string', values: ['fine', 'sad'] },
  { name: 'flag', type: 'boolean' },
  { name: 'day', type: 'date', values: ['2026-01-05', '2026-02-28', '1999-12-31'] },
  { name: 'seen', type: 'datetime', values: ['2026-01-05T10:00:00Z', '1999-12-31T15:59:59-08:00'] },
  { name: 'wall', type: 'datetime', values: ['2026-01-05T12:00:00+02:00', '2026-01-05'] },
  { name: 'clock', type: 'string', values: ['10:00', '23:59:59'] },
  { name: '`key`', type: 'uuid' },
  { name: 'data', type: 'json', values: [{ k: [1, 2] }, [1, 'x', null], 'text'] },
];

const TEMPLATES: OracleDialect['templates'] = {
  p: [
    '$c <=> {c}',
    'name regexp {string}',
    '($c, $d) = ({c}, {d})',
    'json_contains(data, {json})',
    'json_value(data, {string}) = {string}',
    'day between {date} and {date} + interval 3 day',
    'year(day) = {integer}',
    'seen >= {datetime} - interval 1 day',
    '{any} = {any}',
    'find_in_set({string}, name)',
    'name = {integer}',
    'if({boolean}, $c = {c}, false)',
  ],
  e: [
    'greatest({integer}, {integer})',
    'least({number}, {integer})',
    'greatest($c, {c})',
    'concat({any}, {any})',
    'concat_ws({string}, {any}, {any})',
    'cast({any} as char)',
    'cast({any} as signed)',
    'cast({any} as decimal(20,4))',
    'cast({any} as date)',
    'round({number}, {small})',
    'round(price * {number}, {small})',
    'truncate({number}, {small})',
    '{integer} % {integer}',
    '{integer} div {integer}',
    'power({number}, {small})',
    'sqrt(abs({number}))',
    'substring(name, {small}, {small})',
    'left(name, {small})',
    'lpad(name, {small}, {string})',
    'repeat({string}, {small})',
    'char_length({string})',
    'locate({string}, name)',
    'ifnull({integer}, qty)',
    'if({boolean}, {integer}, {number})',
    'json_object({string}, {any})',
    'json_array({any}, {any})',
    "json_set(data, '$.k', {any})",
    "json_extract({json}, '$.k')",
    '{date} + interval 1 month',
    '{date} + interval {small} day',
    '{datetime} - interval 90 minute',
    'datediff({date}, {date})',
    'timestampdiff(second, {datetime}, {datetime})',
    'date_format({datetime}, {string})',
    'extract(year from {date})',
    'last_day({date})',
    'unix_timestamp({datetime})',
    'sec_to_time({integer})',
    'format({number}, {small})',
    'bin({integer})',
    'conv({string}, 10, 16)',
    'nullif({any}, null)',
    'ntile({small} + 1) over (order by id)',
  ],
  a: [
    'group_concat(name order by id)',
    'max({datetime})',
    'sum({integer} * qty)',
    'avg({number})',
    'json_arrayagg({any})',
    'bit_or({integer})',
  ],
};

/** What is more exact than the driver's moments goes as text. */
const moment = (value: string): string => {
  const parsed = parseDatetime(value);
  if (parsed === null) return quoted(value);
  const { date, time, fraction } = atOffset(parsed, 0);
  return `${fraction.length > 4 ? '' : 'timestamp'}${quoted(`${date} ${time}${fraction}`)}`;
};

const NULLS: Readonly<Record<string, string>> = {
  integer: 'cast(null as signed)',
  boolean: '(null = 1)',
  number: 'cast(null as decimal)',
  date: 'cast(null as date)',
  datetime: 'cast(null as datetime)',
  json: "coalesce(json_extract(null, '$'))",
};

function literal(scalar: string, value: Json): string {
  if (value === null) return NULLS[scalar] ?? 'cast(null as char)';
  if (scalar === 'json') return `coalesce(json_extract(${text(JSON.stringify(value))}, '$'))`;
  if (scalar === 'boolean') return value === true ? 'true' : 'false';
  if (scalar === 'datetime') return moment(plainText(value));
  if (scalar === 'date') return `date${quoted(plainText(value))}`;
  if (scalar === 'number') return decimal(value).replace(/\.0$/, '.');
  if (scalar === 'integer') return `cast(${plainText(value)} as signed)`;
  return text(plainText(value));
}
const text = (value: string): string => quoted(value.replaceAll('\\', '\\\\'));

const literals = (type: BoundType, value: Json): readonly string[] => [
  typeof type === 'string'
    ? literal(type, value)
    : listIn(value, '(select null from dual where false)', (item) => literal(scalarOf(type), item)),
];

const DIALECT: OracleDialect = {
  db_type: 'mariadb',
  writes: true,
  columns: COLUMNS,
  templates: TEMPLATES,
  literals,
  list: (list, negated) => `${negated ? 'not in' : 'in'} ${list}`,
  // `replace` of a text in another character set, `if` of numbers.
  bare_null: 'null',
  faults: [/^BIGINT value is out of range/, /^Illegal mix of collations/, /^Illegal parameter data type/],
  refusals: [],
};

async function open(): Promise<OracleDatabase> {
  // A server of its own: what chance makes has ended one before.
  const server = await startMariadb([], {});
  await server.run('create database oracle');
  await server.run('use oracle');
  for (const statement of SCRIPT) await server.run(statement);
  const settings = { ...SETTINGS, db_type: 'mariadb', port: server.port, database: 'oracle', username: 'root' } as const;
  const options = {
    supportBigNumbers: true,
    dateStrings: true,
    jsonStrings: true,
    charset: 'utf8mb4',
    maxPreparedStatements: 10,
  };
  const driver = mysql.createConnection({ host: '127.0.0.1', port: server.port, user: 'root', database: 'oracle', ...options });
  const run = (statement: string): Promise<{ rows: MysqlValue[][]; fields: MysqlField[] }> =>
    new Promise((resolve, reject) => {
      driver.execute({ sql: statement, rowsAsArray: true }, (error, rows, fields) =>
        error
          ? reject(error)
          : resolve({ rows: rows as unknown as MysqlValue[][], fields: (fields ?? []) as unknown as MysqlField[] }),
      );
    });
  const prepare = (statement: string): Promise<void> =>
    new Promise((resolve, reject) => {
      const options = { sql: statement, rowsAsArray: true } as unknown as string;
      driver.prepare(options, (error) => (error ? reject(error) : resolve()));
    });
  driver.query("set time_zone = '+00:00', sql_select_limit = 101");
  const source = openMysql(settings, localPolicy);
  let last: Promise<unknown> = Promise.resolve();
  const ask = async (statement: string): Promise<Answer> => {
    driver.query('begin');
    let is_read = false;
    try {
      const text = withoutLimits(statement, '18446744073709551615');
      await prepare(text);
      is_read = true;
      const { rows, fields } = await run(text);
      const encoders = fields.map((field) => columnRule(field).encode);
      // One that deletes no rows has an answer without any.
      const encoded = (Array.isArray(rows) ? rows : []).map((row) =>
        row.map((cell, i) => (cell === null || encoders[i] === undefined ? (cell as Json) : encoders[i](cell, 'Z'))),
      );
      return { rows: encoded };
    } catch (error) {
      return { fault: String(error), of_types: !is_read };
    } finally {
      driver.query('rollback');
    }
  };
  return {
    source,
    ask(statement) {
      // One transaction after the other.
      const answer = last.then(() => ask(statement));
      last = answer;
      return answer;
    },
    async close() {
      await source.close();
      driver.destroy();
      await server.stop();
    },
  };
}

runOracle({ dialect: DIALECT, up: canStartMariadb, open });
