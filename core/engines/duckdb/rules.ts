import type { Lexeme } from '#core/lib/sql/tokenize.ts';
import { denials, type TokenRules, words } from '#core/lib/sql/rules.ts';
import { tablePositions } from '#core/lib/sql/table-positions.ts';
import { FILE_NAME, REFUSED_FUNCTIONS, REFUSED_TABLES, refusedFunction } from './names.ts';

const WRITES = 'DuckDB connections are read-only; remove this statement, or write to the data with the program that makes it.';
const SESSION = 'Settings of the session are not allowed in a tool.';
const FILES = 'Statements that read or write files or other databases are not allowed in a tool.';
const TRANSACTION = 'Every call has its own connection; a statement that controls a transaction is not allowed.';
const OTHER = 'A tool on DuckDB holds one SELECT, WITH, VALUES, FROM, DESCRIBE or SUMMARIZE statement.';

const each = (list: string, sentence: string) => [...words(list)].map((word) => [word, sentence] as const);

/** Classifies a statement. The session enforces the result with the syntax tree of DuckDB's parser (`tree.ts`). */
export const DUCKDB_RULES: TokenRules = {
  reads: words('select with values from table describe desc summarize show pivot unpivot'),
  forbidden: new Map([
    ...each('insert update delete merge create drop alter truncate comment analyze vacuum checkpoint force', WRITES),
    ...each('set reset use pragma', SESSION),
    ...each('copy export import attach detach install load', FILES),
    ...each('begin commit rollback abort start end', TRANSACTION),
    ...each('call execute prepare deallocate explain', OTHER),
  ]),
  writing: words('into'),
  forbiddenFunctions: REFUSED_FUNCTIONS,
  forbiddenTables: REFUSED_TABLES,
  modules: null,
  writingFunctions: denials({}),
  lastingFunctions: denials({}),
  runsSql: words('query query_table json_execute_serialized_sql'),
  every_name_calls: false,
  texts_name_tables: true,
  forbiddenUse: fileInFrom,
  pragmas: words('pragma_table_info pragma_show'),
  functions: words(`
    abs acos any_value arg_max arg_min ascii asin atan atan2 avg bit_count bool_and bool_or bar ceil ceiling chr coalesce concat
    concat_ws contains corr cos cot count count_if cume_dist current_date current_timestamp date_add date_diff date_part date_sub
    date_trunc datediff datepart datetrunc day dayname dayofmonth dayofweek dayofyear decade degrees dense_rank ends_with epoch
    epoch_ms exp extract factorial filter first first_value flatten floor format generate_series geomean greatest group_concat hash
    histogram hour if ifnull initcap instr isfinite isinf isnan json_array_length json_extract json_extract_string json_keys
    json_object json_type json_valid julian kurtosis lag last last_day last_value lcase lead least left len length list
    list_aggregate list_append list_contains list_distinct list_extract list_filter list_has_any list_max list_min list_position
    list_reverse list_slice list_sort list_sum list_transform list_unique list_value list_zip ln log log10 log2 lower lpad ltrim
    make_date make_time make_timestamp map map_entries map_extract map_keys map_values max max_by md5 mean median microsecond
    millisecond min min_by minute mod mode month monthname now nth_value ntile nullif octet_length ord parse_filename percent_rank pi
    position pow power prefix quantile quantile_cont quantile_disc quarter radians random range rank regexp_extract
    regexp_extract_all regexp_full_match regexp_matches regexp_replace regexp_split_to_array repeat replace reverse right round row
    row_number rpad rtrim second sha256 sign sin skewness split split_part sqrt starts_with stddev stddev_pop stddev_samp strftime
    string_agg string_split strip_accents strlen strpos strptime struct_extract struct_pack substr substring suffix sum tan
    time_bucket to_days to_hours to_json to_minutes to_months to_seconds to_timestamp to_years today translate trim trunc
    try_strptime typeof ucase unnest upper uuid var_pop var_samp variance week weekday weekofyear year yearweek
    cast try_cast exists grouping`),
  syntax: words(`
    all and any anti array as asc asof at between by case collate columns cross cube current decimal desc distinct else end except
    exclude exists filter following for from full group grouping having ilike in inner intersect interval is join lambda lateral left
    like limit list map materialized natural not null nulls numeric of offset on or order outer over partition positional preceding
    qualify range recursive replace returning right rollup rows sample select semi sets similar struct tablesample then to try_cast
    unbounded union unique using values varchar when where window with within`),
};

/** DuckDB reads a file name as a table, and extensions may add functions with any name that read files. */
function fileInFrom(tokens: readonly Lexeme[]): string | null {
  for (const at of tablePositions(tokens)) {
    const { kind, text, name } = tokens[at]!;
    const file = kind === 'string' ? text.slice(1, -1) : kind === 'identifier' ? name : '';
    if (FILE_NAME.test(file)) return `A tool can only read the tables of its database, not files such as ${file}.`;
  }
  for (const [n, { name }] of tokens.entries()) {
    const effect = tokens[n + 1]?.text === '(' && name !== '' ? refusedFunction(name) : null;
    if (effect !== null) return `The function ${name} ${effect}; it is not allowed in a tool.`;
  }
  return null;
}
