import { denials, words } from '#core/lib/sql/rules.ts';

/** Functions that no statement may call, and their effects. */
export const REFUSED_FUNCTIONS = denials({
  'changes the session or the whole database process': `enable_logging disable_logging enable_profiling disable_profiling
    enable_peg_parser disable_peg_parser check_peg_parser truncate_duckdb_logs write_log checkpoint force_checkpoint setseed nextval
    currval import_database copy_database add_parquet_key`,
  'runs SQL text that was not checked':
    'query query_table json_execute_serialized_sql json_serialize_plan json_deserialize_sql sql_auto_complete',
  'reads files or memory that are not part of the database': `arrow_scan arrow_scan_dumb seq_scan glob sniff_csv read_csv
    read_csv_auto read_json read_json_auto read_json_objects read_json_objects_auto read_ndjson read_ndjson_auto read_ndjson_objects
    read_parquet read_text read_blob read_duckdb parquet_scan parquet_metadata parquet_file_metadata parquet_full_metadata
    parquet_kv_metadata parquet_schema parquet_bloom_probe`,
  'reveals settings, secrets or other calls': `which_secret getvariable current_setting duckdb_secrets duckdb_settings
    duckdb_databases duckdb_logs duckdb_logs_parsed duckdb_log_contexts duckdb_prepared_statements duckdb_variables duckdb_extensions
    duckdb_external_file_cache duckdb_temporary_files duckdb_memory duckdb_profiling_settings duckdb_connection_count
    duckdb_approx_database_count parse_duckdb_log_message user_agent`,
  'only waits': 'sleep_ms pg_sleep',
});

const REFUSED_PREFIX = /^(?:read_|parquet_|pragma_(?!table_info$)|enable_|disable_|__internal|arrow_)|_scan$/;

/** The effect of a forbidden function. Null when the function is allowed. */
export const refusedFunction = (name: string): string | null =>
  REFUSED_FUNCTIONS.get(name) ?? (REFUSED_PREFIX.test(name) ? 'is not part of what a tool may use' : null);

/** The allowed table functions; all others are refused. */
export const TABLE_FUNCTIONS = words(`range generate_series unnest repeat repeat_row json_each json_tree summary
  regexp_split_to_table generate_subscripts pragma_table_info pragma_show pg_timezone_names icu_calendar_names histogram
  histogram_values duckdb_tables duckdb_views duckdb_columns duckdb_constraints duckdb_indexes duckdb_schemas duckdb_types
  duckdb_keywords duckdb_functions duckdb_sequences`);

/** System views that reveal more than tables and columns. */
export const REFUSED_TABLES = denials({
  'reveals where the file is': 'pragma_database_list duckdb_databases',
  'shows settings, secrets or other calls': 'duckdb_logs duckdb_settings duckdb_secrets pg_settings pg_prepared_statements',
});

/** DuckDB reads such a name as a file when there is no table with it. */
export const FILE_NAME = /[/\\*?]|:\/\/|\.(?:csv|tsv|txt|parquet|json|jsonl|ndjson|gz|zst|db|duckdb|sqlite|wal|xlsx|avro)$/i;
