import { denials, type TokenRules, words } from '#core/lib/sql/rules.ts';

const TRANSACTION = 'Every call has its own transaction; a statement that controls one is not allowed.';

const PRAGMAS = `pragma_table_info pragma_table_xinfo pragma_table_list pragma_index_list pragma_index_info pragma_index_xinfo
  pragma_foreign_key_list pragma_foreign_key_check pragma_function_list pragma_collation_list pragma_compile_options
  pragma_module_list pragma_pragma_list pragma_user_version pragma_schema_version pragma_application_id
  pragma_data_version pragma_page_count pragma_page_size pragma_freelist_count pragma_encoding pragma_integrity_check
  pragma_quick_check`;

const FILES = 'accesses files or programs of the machine with the database';
const FILE_TABLES = 'fsdir lsdir fileio_ls fileio_scan zipfile vfsstat';
/** Modules that store their rows in tables of the same file. */
const MODULES = words('fts3 fts4 fts5 fts4aux fts5vocab rtree rtree_i32 geopoly');

export const SQLITE_RULES: TokenRules = {
  reads: words('select with values explain'),
  forbidden: new Map([
    ...[...words('begin commit end rollback savepoint release')].map((word) => [word, TRANSACTION] as const),
    ['attach', 'ATTACH opens other files and is not allowed; create a connection for each file.'],
    ['detach', 'DETACH changes the session, which later calls share, and is not allowed.'],
    ['pragma', 'PRAGMA changes the session or the file and is not allowed; SELECT from its table function instead.'],
    ['vacuum', 'VACUUM rewrites the file, or writes another one, and is not allowed.'],
  ]),
  writing: words('insert update delete into'),
  forbiddenFunctions: denials({
    'loads code into the process': 'load_extension fts3_tokenizer',
    [FILES]: `${FILE_TABLES} readfile writefile edit lsmode fileio fileio_read fileio_write fileio_append fileio_mkdir fileio_symlink
      fileio_mode zipfile_cds sqlar_compress sqlar_uncompress sqlite_file_read shell system exec eval define undefine`,
    'runs SQL text that was not checked': 'sha3_query',
    'changes how the file is encrypted': 'sqlite3mc_config sqlite3mc_codec_data',
  }),
  forbiddenTables: denials({
    [FILES]: `${FILE_TABLES} readfile writefile`,
    'reads the pages of the file instead of its tables': 'sqlite_dbpage sqlite_dbdata sqlite_dbptr',
    'shows the statements of the session': 'sqlite_stmt',
    'changes how the file is encrypted': 'sqlite3mc_config_table',
    'reveals where the file is': 'pragma_database_list',
  }),
  modules: { behind: 'using', isAllowed: (name) => MODULES.has(name) },
  writingFunctions: denials({
    'changes the file': `sqlite_drop_column sqlite_rename_column sqlite_rename_table sqlite_rename_quotefix addgeometrycolumn
      createspatialindex discardgeometrycolumn recovergeometrycolumn initspatialmetadata optimize`,
    'writes to the log': 'sqlite_log',
    'changes the session, which later calls share': 'crsql_begin_alter crsql_commit_alter crsql_as_crr',
  }),
  lastingFunctions: denials({ 'writes to the log': 'sqlite_log' }),
  runsSql: words('eval exec exec_sql execute_sql run_sql run_query execute_query'),
  every_name_calls: false,
  texts_name_tables: true,
  forbiddenUse: () => null,
  pragmas: words(PRAGMAS),
  functions: words(`${PRAGMAS}
    abs acos acosh asin asinh atan atan2 atanh avg bm25 ceil ceiling changes char coalesce concat concat_ws cos cosh count cume_dist
    current_date current_time current_timestamp date datetime degrees dense_rank exp first_value floor format geopoly_area
    geopoly_bbox geopoly_blob geopoly_contains_point geopoly_json geopoly_overlap geopoly_within glob group_concat hex highlight
    if ifnull iif instr json json_array json_array_insert json_array_length json_each json_error_position json_extract
    json_group_array json_group_object json_insert json_object json_patch json_pretty json_quote json_remove json_replace json_set
    json_tree json_type json_valid jsonb jsonb_array jsonb_array_insert jsonb_each jsonb_extract jsonb_group_array jsonb_group_object
    jsonb_insert jsonb_object jsonb_patch jsonb_remove jsonb_replace jsonb_set jsonb_tree julianday lag last_insert_rowid last_value
    lead length like likelihood likely ln log log10 log2 lower ltrim matchinfo max median min mod nth_value ntile nullif octet_length
    offsets percent_rank percentile percentile_cont percentile_disc pi pow power printf quote radians random randomblob rank replace
    round row_number rtrim sign sin sinh snippet soundex sqlite_compileoption_get sqlite_compileoption_used sqlite_source_id
    sqlite_version sqrt stddev stdev strftime string_agg substr substring subtype sum tan tanh time timediff total total_changes trim
    trunc typeof unhex unicode unistr unistr_quote unixepoch unlikely upper zeroblob generate_series
    vector vector32 vector64 vector_distance_cos vector_distance_l2 vector_extract vector_top_k
    cast raise exists match regexp`),
  syntax: words(`
    all and any as asc between by case char character collate cross decimal desc distinct double else end escape except exists filter
    float from full glob group having in indexed inner int integer intersect is isnull join left like limit match materialized natural
    not notnull null numeric nvarchar of offset on or order outer over partition range real recursive regexp returning right rows
    select text then union using values varchar when where window with`),
};
