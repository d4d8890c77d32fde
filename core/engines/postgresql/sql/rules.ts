import { denials, type TokenRules, words } from '#core/lib/sql/rules.ts';

/** The closed list of built-in functions without side effects, including aggregates and window functions. */
export const SAFE_FUNCTIONS = words(`
abbrev abs acos acosd acosh age any_value area array_agg array_append array_cat array_dims array_fill array_length array_lower
array_ndims array_position array_positions array_prepend array_remove array_replace array_reverse array_sample array_shuffle
array_sort array_to_json array_to_string array_to_tsvector array_upper ascii asin asind asinh atan atan2 atan2d atand atanh avg
bit_and bit_count bit_length bit_or bit_xor bool bool_and bool_or bound_box box bpchar broadcast btrim bytea cardinality cbrt ceil
ceiling center char char_length character_length chr cidr circle clock_timestamp col_description concat concat_ws convert
convert_from convert_to corr cos cosd cosh cot cotd count covar_pop covar_samp crc32 crc32c cume_dist current_database
current_schema current_schemas current_setting date date_add date_bin date_part date_subtract date_trunc daterange
datemultirange decode degrees dense_rank diagonal diameter encode enum_first enum_last enum_range erf erfc every exp extract
factorial family first_value float4 float8 floor format format_type gamma gcd gen_random_uuid generate_series generate_subscripts
get_bit get_byte grouping has_any_column_privilege has_column_privilege has_database_privilege has_function_privilege
has_schema_privilege has_sequence_privilege has_table_privilege has_type_privilege height host hostmask inet_merge
inet_same_family initcap int2 int4 int4range int4multirange int8 int8range int8multirange interval is_normalized isclosed isempty
isfinite isopen json_agg json_array_elements json_array_elements_text json_array_length json_build_array json_build_object
json_each json_each_text json_extract_path json_extract_path_text json_object json_object_agg json_object_agg_strict
json_object_agg_unique json_object_agg_unique_strict json_agg_strict json_object_keys json_strip_nulls json_to_record
json_to_recordset json_typeof jsonb_agg jsonb_agg_strict jsonb_array_elements jsonb_array_elements_text jsonb_array_length
jsonb_build_array jsonb_build_object jsonb_concat jsonb_contained jsonb_contains jsonb_delete jsonb_delete_path jsonb_each
jsonb_each_text jsonb_exists jsonb_exists_all jsonb_exists_any jsonb_extract_path jsonb_extract_path_text jsonb_insert
jsonb_object jsonb_object_agg jsonb_object_agg_strict jsonb_object_agg_unique jsonb_object_agg_unique_strict jsonb_object_keys
jsonb_path_exists jsonb_path_exists_opr jsonb_path_exists_tz jsonb_path_match jsonb_path_match_opr jsonb_path_match_tz
jsonb_path_query jsonb_path_query_array jsonb_path_query_array_tz jsonb_path_query_first jsonb_path_query_first_tz
jsonb_path_query_tz jsonb_pretty jsonb_set jsonb_set_lax jsonb_strip_nulls jsonb_to_record jsonb_to_recordset jsonb_typeof
justify_days justify_hours justify_interval lag last_value lcm lead left length lgamma like ln log log10 lower lower_inc lower_inf
lpad lseg ltrim macaddr macaddr8 make_date make_interval make_time make_timestamp make_timestamptz masklen max md5 min min_scale mod
mode money multirange name netmask network normalize notlike now npoints nth_value ntile num_nonnulls num_nulls numeric nummultirange
numnode numrange obj_description octet_length overlaps overlay parse_ident path pclose percent_rank percentile_cont
percentile_disc pg_backend_pid pg_client_encoding pg_collation_for pg_column_compression pg_column_size pg_conf_load_time
pg_database_size pg_encoding_to_char pg_function_is_visible pg_get_constraintdef pg_get_expr pg_get_function_arguments
pg_get_function_identity_arguments pg_get_function_result pg_get_functiondef pg_get_indexdef pg_get_partkeydef pg_get_ruledef
pg_get_serial_sequence pg_get_statisticsobjdef pg_get_triggerdef pg_get_userbyid pg_get_viewdef pg_has_role pg_indexes_size
pg_input_is_valid pg_is_in_recovery pg_partition_root pg_postmaster_start_time pg_relation_size pg_size_bytes pg_size_pretty
pg_table_is_visible pg_table_size pg_total_relation_size pg_type_is_visible pg_typeof phraseto_tsquery pi plainto_tsquery point
polygon popen position pow power querytree quote_ident quote_literal quote_nullable radians radius random random_normal
range_agg range_intersect_agg range_merge rank regexp_count regexp_instr regexp_like regexp_match regexp_matches regexp_replace
regexp_split_to_array regexp_split_to_table regexp_substr regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope regr_sxx
regr_sxy regr_syy repeat replace reverse right round row_number row_to_json rpad rtrim scale set_bit set_byte set_masklen setweight
sha224 sha256 sha384 sha512 shobj_description sign similar_escape similar_to_escape sin sind sinh slope split_part sqrt starts_with
statement_timestamp stddev stddev_pop stddev_samp string_agg string_to_array string_to_table strip strpos substr substring sum tan
tand tanh text time timeofday timestamp timestamptz timetz timezone to_ascii to_bin to_char to_date to_hex to_json to_jsonb
to_number to_oct to_regclass to_regnamespace to_regproc to_regrole to_regtype to_timestamp to_tsquery to_tsvector
transaction_timestamp translate trim_array trim_scale trunc ts_debug ts_delete ts_filter ts_headline ts_rank ts_rank_cd
tsmultirange tsquery_phrase tsrange tstzmultirange tstzrange tsvector_to_array unicode_assigned unistr unnest upper upper_inc
upper_inf uuid_extract_timestamp uuid_extract_version uuidv4 uuidv7 var_pop var_samp variance version websearch_to_tsquery width
width_bucket xml xml_is_well_formed xml_is_well_formed_content xml_is_well_formed_document xmlagg xmlcomment xmlconcat xmlexists
xpath xpath_exists`);

/** Built-in operators. A user-defined operator has another name or another schema. */
export const SAFE_OPERATORS = words(`
!! !~ !~* !~~ !~~* # ## #- #> #>> % & && &< &<| &> * + - -> ->> -|- / < <-> << <<= <<| <= <> <@ <^ = > >= >> >>= >^ ? ?# ?& ?- ?-|
?| ?|| @ @-@ @> @? @@ @@@ ^ ^@ | |&> |/ |>> || ||/ ~ ~* ~<=~ ~<~ ~= ~>=~ ~>~ ~~ ~~* !=`);

export const SAFE_TYPES = words(`
bit bool box bpchar bytea char cidr circle date datemultirange daterange float4 float8 inet int2 int4 int4multirange int4range int8
int8multirange int8range interval json jsonb jsonpath line lseg macaddr macaddr8 money name numeric nummultirange numrange oid path
pg_lsn point polygon record regclass regnamespace regproc regprocedure regrole regtype text tid time timestamp timestamptz timetz
tsmultirange tsquery tsrange tstzmultirange tstzrange tsvector uuid varbit varchar xid xid8 xml`);

/** Volatile built-ins that are neither safe nor forbidden: allowed in reading tools, never in a fixed session, in no spelling. */
export const UNSETTLED_FUNCTIONS = words(`
amvalidate currtid2 lo_get pg_blocking_pids pg_collation_actual_version pg_control_checkpoint pg_control_init pg_control_recovery
pg_control_system pg_current_wal_flush_lsn pg_current_wal_insert_lsn pg_current_wal_lsn pg_database_collation_actual_version
pg_get_aios pg_get_backend_memory_contexts pg_get_loaded_modules pg_get_multixact_members pg_get_sequence_data
pg_get_shmem_allocations pg_get_shmem_allocations_numa pg_get_wait_events pg_get_wal_replay_pause_state pg_get_wal_summarizer_state
pg_get_wal_resource_managers pg_is_wal_replay_paused pg_isolation_test_session_is_blocked pg_jit_available pg_last_committed_xact
pg_last_wal_receive_lsn pg_last_wal_replay_lsn pg_last_xact_replay_timestamp pg_lock_status pg_notification_queue_usage
pg_partition_ancestors pg_partition_tree pg_prepared_xact pg_replication_origin_progress pg_replication_origin_session_is_setup
pg_replication_origin_session_progress pg_safe_snapshot_blocking_pids pg_sequence_last_value pg_show_replication_origin_status
pg_sleep pg_sleep_for pg_sleep_until pg_stat_clear_snapshot pg_stat_get_backend_io pg_stat_get_backend_wal pg_stat_get_io
pg_stat_get_recovery_prefetch pg_stat_get_xact_blocks_fetched
pg_stat_get_xact_blocks_hit pg_stat_get_xact_function_calls pg_stat_get_xact_function_self_time
pg_stat_get_xact_function_total_time pg_stat_get_xact_numscans pg_stat_get_xact_tuples_deleted pg_stat_get_xact_tuples_fetched
pg_stat_get_xact_tuples_hot_updated pg_stat_get_xact_tuples_newpage_updated pg_stat_get_xact_tuples_inserted pg_stat_get_xact_tuples_returned
pg_stat_get_xact_tuples_updated pg_stat_have_stats pg_tablespace_size pg_xact_commit_timestamp pg_xact_commit_timestamp_origin
pg_xact_status txid_status current_query currval lastval`);

const SESSION = 'changes the session, which later calls share';
const FILES = 'accesses files or programs of the database server';

/** Functions that no tool may call. */
export const FORBIDDEN_FUNCTIONS = denials({
  [SESSION]: `set_config setseed pg_advisory_lock pg_advisory_lock_shared pg_try_advisory_lock pg_try_advisory_lock_shared
    pg_advisory_unlock pg_advisory_unlock_shared pg_advisory_unlock_all dblink_connect dblink_connect_u dblink_disconnect
    pg_replication_origin_session_setup pg_replication_origin_session_reset pg_replication_origin_xact_setup
    pg_replication_origin_xact_reset pg_export_snapshot pg_stop_making_pinned_objects`,
  [FILES]: `pg_read_file pg_read_file_old pg_read_binary_file pg_ls_dir pg_ls_logdir pg_ls_waldir pg_ls_tmpdir
    pg_ls_archive_statusdir pg_ls_logicalmapdir pg_ls_logicalsnapdir pg_ls_replslotdir pg_ls_summariesdir pg_stat_file
    pg_available_wal_summaries pg_wal_summary_contents pg_current_logfile pg_hba_file_rules pg_ident_file_mappings pg_show_all_file_settings lo_import lo_export pg_file_read
    pg_file_write pg_file_rename pg_file_unlink pg_file_sync pg_file_length pg_logfile_rotate pg_logdir_ls`,
});

/** Views over the functions above. */
export const FORBIDDEN_TABLES = denials({ [FILES]: 'pg_hba_file_rules pg_ident_file_mappings pg_file_settings' });

const RUNS_TEXT = 'runs SQL text that was not checked';

/** Built-in and contrib functions that run SQL text. */
const RUNS_SQL = words(`
query_to_xml query_to_xmlschema query_to_xml_and_xmlschema cursor_to_xml cursor_to_xmlschema ts_stat ts_rewrite dblink dblink_exec
dblink_open dblink_send_query crosstab crosstab2 crosstab3 crosstab4 crosstabn connectby exec exec_sql execute_sql run_sql run_query
execute_query eval`);

const LOCKS = 'takes a lock';
const LARGE_OBJECTS = 'writes large objects';
const WRITES = {
  [RUNS_TEXT]: [...RUNS_SQL].join(' '),
  'accesses another database, which the read-only session does not cover': `dblink_fetch dblink_close dblink_get_result
    dblink_get_connections dblink_is_busy dblink_cancel_query dblink_get_notify dblink_build_sql_insert dblink_build_sql_update
    dblink_build_sql_delete`,
  'accesses other servers': 'http http_get http_post http_put http_patch http_delete http_head',
  'advances a sequence': 'nextval setval',
  [LOCKS]: 'pg_advisory_xact_lock pg_advisory_xact_lock_shared pg_try_advisory_xact_lock pg_try_advisory_xact_lock_shared',
  [LARGE_OBJECTS]: `lo_close lo_creat lo_create lo_from_bytea lo_lseek lo_lseek64 lo_open lo_put lo_tell lo_tell64 lo_truncate
    lo_truncate64 lo_unlink loread lowrite lo_manage`,
  'changes the server': `pg_notify pg_cancel_backend pg_terminate_backend pg_reload_conf pg_rotate_logfile pg_rotate_logfile_old
    pg_promote pg_switch_wal pg_switch_xlog pg_backup_start pg_backup_stop pg_start_backup pg_stop_backup pg_create_restore_point
    pg_wal_replay_pause pg_wal_replay_resume pg_create_logical_replication_slot pg_create_physical_replication_slot
    pg_copy_logical_replication_slot pg_copy_physical_replication_slot pg_drop_replication_slot pg_replication_slot_advance
    pg_sync_replication_slots pg_logical_emit_message pg_logical_slot_get_changes pg_logical_slot_get_binary_changes
    pg_logical_slot_peek_changes pg_logical_slot_peek_binary_changes pg_replication_origin_create pg_replication_origin_drop
    pg_replication_origin_advance pg_stat_reset pg_stat_reset_shared pg_stat_reset_slru pg_stat_reset_replication_slot
    pg_stat_reset_single_table_counters pg_stat_reset_single_function_counters pg_stat_reset_subscription_stats
    pg_stat_reset_backend_stats pg_stat_force_next_flush pg_stat_statements_reset pg_log_backend_memory_contexts
    pg_log_standby_snapshot pg_import_system_collations pg_extension_config_dump pg_nextoid brin_summarize_new_values
    brin_summarize_range brin_desummarize_range gin_clean_pending_list pg_set_relation_stats pg_clear_relation_stats
    pg_restore_relation_stats pg_set_attribute_stats pg_clear_attribute_stats pg_restore_attribute_stats pg_prewarm
    pg_truncate_visibility_map pg_buffercache_evict heap_force_kill heap_force_freeze pg_surgery`,
};
/** Functions that a reading tool may not call. */
export const WRITING_FUNCTIONS = denials(WRITES);
const UNDONE: ReadonlySet<string> = new Set([LOCKS, LARGE_OBJECTS]);
/**
 * Functions that a statement may not call when it is run to be rolled back. NOTIFY is not included, because it is sent at commit.
 */
export const LASTING_FUNCTIONS: ReadonlyMap<string, string> = new Map(
  [...WRITING_FUNCTIONS].filter(([name, effect]) => !UNDONE.has(effect) && name !== 'pg_notify'),
);

const TRANSACTION = 'Every call has its own transaction; a statement that controls one is not allowed.';
const CURSOR = 'Prepared statements and cursors outlive a call and are not allowed; write the query itself.';
const SETTING = 'Settings of the session outlive a call and are not allowed.';

/** Nodes of libpg-query for statements that no tool may contain. Other statements that are not queries count as writes. */
export const FORBIDDEN_NODES: ReadonlyMap<string, string> = new Map([
  ['TransactionStmt', TRANSACTION],
  ['VariableSetStmt', SETTING],
  ['ConstraintsSetStmt', SETTING],
  ['DiscardStmt', SETTING],
  ['LoadStmt', 'LOAD loads code into the server and is not allowed.'],
  ['AlterSystemStmt', 'ALTER SYSTEM changes the whole server and is not allowed.'],
  ['CopyStmt', 'COPY accesses files, programs or another protocol and is not allowed; use SELECT or INSERT.'],
  ['DoStmt', 'DO runs code that cannot be checked and returns nothing; write a procedure and CALL it.'],
  ['ListenStmt', 'LISTEN belongs to a session, not to a call, and is not allowed.'],
  ['UnlistenStmt', 'UNLISTEN belongs to a session, not to a call, and is not allowed.'],
  ['PrepareStmt', CURSOR],
  ['ExecuteStmt', CURSOR],
  ['DeallocateStmt', CURSOR],
  ['DeclareCursorStmt', CURSOR],
  ['FetchStmt', CURSOR],
  ['ClosePortalStmt', CURSOR],
]);

/** Rules for statements of compatible databases that PostgreSQL's grammar refuses. Such statements are never fixed. */
export const POSTGRESQL_RULES: TokenRules = {
  reads: words('select with values table show explain'),
  forbidden: new Map([
    ...[...words('begin start commit end rollback abort savepoint release')].map((word) => [word, TRANSACTION] as const),
    ...[...words('set reset discard')].map((word) => [word, SETTING] as const),
    ...[...words('prepare execute deallocate declare fetch move close')].map((word) => [word, CURSOR] as const),
    ...[...words('copy load unload do listen unlisten')].map(
      (word) => [word, 'Such a statement is not allowed in a tool.'] as const,
    ),
  ]),
  writing: words('insert update delete merge into truncate create alter drop grant revoke call copy analyze lock share'),
  functions: new Set(),
  syntax: new Set(),
  forbiddenFunctions: FORBIDDEN_FUNCTIONS,
  forbiddenTables: FORBIDDEN_TABLES,
  modules: null,
  writingFunctions: WRITING_FUNCTIONS,
  lastingFunctions: LASTING_FUNCTIONS,
  // These rules only apply to compatible databases.
  every_name_calls: true,
  texts_name_tables: false,
  forbiddenUse: () => null,
  pragmas: null,
  runsSql: RUNS_SQL,
};
