/** SQL that a database administrator runs once, so that the database isolates callers' rows. It is only shown and copied. */

export interface PolicyOptions {
  readonly schema: string;
  readonly table: string;
  /** The column that identifies the owner of a row. */
  readonly column: string;
  /** The name of the session value. */
  readonly value: string;
  /** True when the value is a JSON list, such as the groups of the caller. */
  readonly is_list: boolean;
  /** The account of the connection. */
  readonly account: string;
}

export const VIEW_SUFFIX = '_of_caller';

/** Row-level security for PostgreSQL. The subselect is evaluated once per statement, so an index on the column is used. */
export function postgresPolicies({ schema, table, column, value, is_list, account }: PolicyOptions): string {
  const name = `${doubled(schema, '"')}.${doubled(table, '"')}`;
  const setting = `nullif(current_setting(${text(value)}, true), '')`;
  const mine = is_list
    ? `${doubled(column, '"')} in (select jsonb_array_elements_text(${setting}::jsonb))`
    : `${doubled(column, '"')} = (select ${setting})`;
  return `-- A column that isn’t text needs a cast, such as ${is_list ? '(jsonb_array_elements_text(…))::uuid' : `(select ${setting}::uuid)`}.
alter table ${name} enable row level security;
alter table ${name} force row level security;
create policy of_caller on ${name}
  using (${mine})
  with check (${mine});
grant select on ${name} to ${doubled(account, '"')};
`;
}

/**
 * MySQL and MariaDB have no row-level security, so the account reads a view instead of the table. With a `deterministic` function
 * the server can use an index on the column.
 */
export function mysqlViews({ schema, table, column, value, is_list, account }: PolicyOptions): string {
  const at = (name: string) => `${doubled(schema, '`')}.${doubled(name, '`')}`;
  const caller = at(`caller_${value}`);
  const field = doubled(column, '`');
  const mine = is_list ? `json_contains(${caller}(), json_quote(${field}))` : `${field} = ${caller}()`;
  const who = `${text(account)}@'%'`;
  return `create function ${caller}() returns varchar(${is_list ? 4_000 : 255}) charset utf8mb4 deterministic no sql return @${value};
create sql security definer view ${at(table + VIEW_SUFFIX)} as
  select * from ${at(table)} where ${mine}
  with check option;
grant select on ${at(table + VIEW_SUFFIX)} to ${who};
-- The account must not read the table itself. If it can: revoke select on ${at(table)} from ${who};
`;
}

const doubled = (name: string, quote: string): string => `${quote}${name.replaceAll(quote, quote + quote)}${quote}`;
const text = (value: string): string => `'${value.replaceAll("'", "''")}'`;
