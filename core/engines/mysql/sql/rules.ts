import type { Lexeme } from '#core/lib/sql/tokenize.ts';
import { denials, type TokenRules, words } from '#core/lib/sql/rules.ts';

const TRANSACTION = 'Every call has its own transaction; a statement that controls one is not allowed.';
const PREPARED = 'Statements that prepare or run other SQL text are not allowed; write the statement itself.';
const SESSION = 'Settings and locks of the session outlive a call and are not allowed.';
const SERVER = 'Statements that change the whole server are not allowed.';
const FILES = 'Statements that read or write files of the server are not allowed.';

/** Storage engines whose rows are in arbitrary files of the server, or on another server. */
const OUTSIDE_ENGINES = words('connect federated federatedx spider s3');

/** For MySQL 8 and for MariaDB 10 and 11. */
export const MYSQL_RULES: TokenRules = {
  reads: words('select with values table show describe desc explain'),
  forbidden: new Map([
    ...[...words('begin start commit rollback savepoint release xa')].map((word) => [word, TRANSACTION] as const),
    ...[...words('prepare execute deallocate')].map((word) => [word, PREPARED] as const),
    ...[...words('set use lock unlock handler reset flush cache')].map((word) => [word, SESSION] as const),
    ...[...words('install uninstall shutdown restart change purge stop binlog clone backup')].map(
      (word) => [word, SERVER] as const,
    ),
    ...[...words('load')].map((word) => [word, FILES] as const),
    ['do', 'DO returns nothing and is not allowed; write SELECT.'],
  ]),
  writing: words(
    'insert replace update delete into procedure lock load call create alter drop grant revoke rename kill purge unlock',
  ),
  forbiddenFunctions: denials({
    'reads files of the database server': 'load_file',
    'runs programs on the database server': 'sys_exec sys_eval sys_get sys_set lib_mysqludf_sys_info',
    'changes the session, which later calls share': 'get_lock release_lock release_all_locks setval',
  }),
  forbiddenTables: new Map(),
  modules: { behind: 'engine', isAllowed: (name) => !OUTSIDE_ENGINES.has(name) },
  writingFunctions: denials({
    'advances a sequence': 'nextval',
    'waits for replication':
      'master_pos_wait master_gtid_wait source_pos_wait wait_for_executed_gtid_set wait_until_sql_thread_after_gtids',
  }),
  lastingFunctions: denials({ 'advances a sequence': 'nextval' }),
  every_name_calls: false,
  texts_name_tables: false,
  forbiddenUse,
  pragmas: null,
  runsSql: words('execute_prepared_stmt exec exec_sql execute_sql run_sql run_query execute_query eval'),
  functions: words(`
    abs acos add_months adddate addtime aes_decrypt aes_encrypt any_value ascii asin atan atan2 avg bin bin_to_uuid bit_and bit_count
    bit_length bit_or bit_xor ceil ceiling char_length character_length chr coalesce coercibility compress concat concat_ws
    conv convert_tz cos cot count crc32 crc32c cume_dist curdate current_date current_role current_time current_timestamp current_user
    curtime database date_add date_format date_sub datediff dayname dayofmonth dayofweek dayofyear dense_rank degrees elt exp
    export_set extractvalue field find_in_set first_value format format_bytes format_pico_time from_base64 from_days from_unixtime
    get_format greatest group_concat grouping hex ifnull inet_aton inet_ntoa inet6_aton inet6_ntoa instr is_ipv4 is_ipv6 is_uuid
    isnull json_array json_array_append json_array_insert json_array_intersect json_arrayagg json_compact json_contains
    json_contains_path json_depth json_detailed json_equals json_exists json_extract json_insert json_keys json_length json_loose
    json_merge json_merge_patch json_merge_preserve json_normalize json_object json_object_filter_keys json_object_to_array
    json_objectagg json_overlaps json_pretty json_query json_quote json_remove json_replace json_search json_set json_storage_size
    json_type json_unquote json_valid json_value lag last_day last_value lcase lead least length lengthb ln localtime localtimestamp
    locate log log10 log2 lower lpad ltrim make_set makedate maketime max md5 median microsecond mid min monthname months_between
    name_const natural_sort_key now nth_value ntile nullif nvl nvl2 oct octet_length ord percent_rank percentile_cont percentile_disc
    period_add period_diff pi position pow power quarter quote radians rand random_bytes rank regexp_instr regexp_like regexp_replace
    regexp_substr repeat reverse round row_number rpad rtrim schema sec_to_time session_user sformat sha sha1 sha2 sign sin soundex
    space sqrt st_area st_asbinary st_asgeojson st_astext st_aswkb st_aswkt st_buffer st_centroid st_contains st_convexhull st_crosses
    st_difference st_dimension st_disjoint st_distance st_distance_sphere st_envelope st_equals st_geomfromgeojson st_geomfromtext
    st_geomfromwkb st_intersection st_intersects st_isempty st_isvalid st_latitude st_length st_longitude st_makeenvelope st_overlaps
    st_pointfromtext st_simplify st_srid st_touches st_transform st_union st_within st_x st_y std stddev stddev_pop stddev_samp
    str_to_date strcmp subdate substr substring substring_index subtime sum sysdate system_user tan time_format time_to_sec timediff
    timestampadd timestampdiff to_base64 to_char to_days to_seconds trim ucase uncompress uncompressed_length unhex unix_timestamp
    updatexml upper utc_date utc_time utc_timestamp uuid uuid_to_bin validate_password_strength var_pop var_samp variance
    version week weekday weekofyear weight_string yearweek
    date time timestamp year month day hour minute second truncate mod user left right insert replace char extract cast convert values
    if interval binary point linestring polygon match`),
  syntax: words(`
    all and any as against between bigint bit blob both by case character charset collate columns cross date datetime
    dec decimal distinct distinctrow div double else end escape except exists false first float for force from full group having
    hour if ignore in index inner int integer intersect interval into is join json_table key lateral leading like limit
    materialized minus nchar nested nvarchar not null numeric of offset on or order ordinality outer over partition partitions path
    range read real recursive regexp returning rlike roll rollup row rows select separator set signed soname some straight_join
    system_time then time trailing true union unsigned use using values varbinary varchar when where window with within xor year`),
};

function forbiddenUse(tokens: readonly Lexeme[]): string | null {
  for (const [i, { kind, text }] of tokens.entries()) {
    const next = tokens[i + 1];
    if (kind === 'word' && text === 'outfile') return 'INTO OUTFILE writes a file on the server and is not allowed in a tool.';
    if (kind === 'operator' && text === ':=') return 'Variables of the session outlive a call and are not allowed in a tool.';
    if (kind === 'comment' && text.includes('set_var')) return 'The hint SET_VAR changes settings and is not allowed in a tool.';
    if (kind !== 'word' || text !== 'into' || !next) continue;
    if (next.text === 'dumpfile') return 'INTO DUMPFILE writes a file on the server and is not allowed in a tool.';
    if (next.kind === 'variable') return 'Variables of the session outlive a call and are not allowed in a tool.';
  }
  return null;
}
