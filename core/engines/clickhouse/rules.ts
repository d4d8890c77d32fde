import { type Lexeme, KEYWORDS } from '#core/lib/sql/tokenize.ts';
import { denials, type TokenRules, words } from '#core/lib/sql/rules.ts';
import { tablePositions } from '#core/lib/sql/table-positions.ts';

const WRITES = 'ClickHouse connections are read-only; write to the tables with another program.';
const SESSION = 'Settings of the session and of the server are not allowed in a tool.';
const OTHER = 'A tool on ClickHouse holds one SELECT or WITH statement; select from system.tables or system.columns instead.';

const each = (list: string, sentence: string) => [...words(list)].map((word) => [word, sentence] as const);

/** Table functions that generate their rows themselves; all others are refused. */
const TABLE_FUNCTIONS = words(
  'numbers numbers_mt zeros zeros_mt generate_series generateseries generaterandom primes values view null',
);

/** System tables about tables and server features. They reveal nothing about other callers, settings or the machine. */
const SYSTEM_TABLES =
  words(`one numbers numbers_mt zeros zeros_mt tables columns databases parts parts_columns data_skipping_indices
  data_type_families table_engines formats functions aggregate_function_combinators time_zones contributors licenses build_options
  collations`);

const OUTSIDE = 'reads or writes outside of the tables of this database';

/** Classifies a statement. The server enforces the result, because every statement is sent with `readonly = 1`. */
export const CLICKHOUSE_RULES: TokenRules = {
  reads: words('select with from'),
  forbidden: new Map([
    ...each(
      'insert update delete create drop alter rename truncate optimize attach detach exchange undrop move backup restore copy grant revoke',
      WRITES,
    ),
    ...each('set use system kill begin commit rollback', SESSION),
    ...each('show describe desc exists explain check watch values execute parallel table', OTHER),
  ]),
  writing: words('into'),
  forbiddenFunctions: denials({
    [OUTSIDE]: `file url s3 s3cluster gcs oss cosn hdfs hdfscluster azureblobstorage azureblobstoragecluster filecluster urlcluster
      remote remotesecure cluster clusterallreplicas distributed mysql postgresql mongodb redis sqlite odbc jdbc executable input
      dictionary hive hudi hudicluster iceberg icebergs3 icebergazure iceberghdfs iceberglocal icebergcluster icebergs3cluster
      icebergazurecluster iceberghdfscluster iceberglocalcluster deltalake deltalakes3 deltalakeazure deltalakelocal deltalakecluster
      deltalakes3cluster deltalakeazurecluster paimon paimons3 paimonazure paimonhdfs paimonlocal paimoncluster paimons3cluster
      paimonazurecluster paimonhdfscluster arrowflight ytsaurus python chdb prometheusquery prometheusqueryrange timeseriesdata
      timeseriestags timeseriesmetrics timeseriesselector merge mergetreeindex mergetreeprojection mergetreeanalyzeindexes
      mergetreeanalyzeindexesuuid mergetreeparts mergetreetextindex timeseriessamples arrowstream filesystem loop
      catboostevaluate hascolumnintable`,
    'runs text that was not checked': 'eval viewexplain fuzzquery',
    'only waits': 'sleep sleepeachrow',
    'reveals settings of the server or of other callers': `getclienthttpheader getserversetting getsetting getsettingordefault getmacro
      getmaxtablenamelengthfordatabase getmergetreesetting getserverport connectionid connection_id currentquerycontext initialqueryid initial_query_id
      queryid query_id getoskernelversion serveruuid hostname fqdn fullhostname filesystemavailable filesystemcapacity filesystemunreserved
      filesystemfree showcertificate displaysecretsinshowandselect addresstoline addresstolinewithinlines addresstosymbol demangle
      buildid tcpport`,
    'changes what outlives the call': 'generateserialid logtrace',
    'sends data to another service': 'aigenerate aitranslate aiclassify aiextract aiembed aisummarize',
  }),
  forbiddenTables: new Map(),
  modules: null,
  writingFunctions: denials({}),
  lastingFunctions: denials({}),
  runsSql: words('eval fuzzquery viewexplain'),
  every_name_calls: false,
  texts_name_tables: false,
  forbiddenUse: (tokens) => clause(tokens) ?? systemTable(tokens) ?? tableFunction(tokens),
  pragmas: null,
  // Empty: statements run the same way whether or not their functions are known to be harmless.
  functions: words(''),
  syntax: words('in and or not as on using from join where having values exists any all over interval tuple array map distinct'),
};

const NOT_A_NAME = words('is as asc desc final prewhere qualify sample settings format into intersect except nulls offset array');

/** Finds clauses that change settings, the format or the destination of the rows. */
function clause(tokens: readonly Lexeme[]): string | null {
  for (const [i, { kind, text }] of tokens.entries()) {
    if (kind !== 'word' || tokens[i - 1]?.text === '.') continue;
    const next = tokens[i + 1];
    if (text === 'outfile') return 'INTO OUTFILE writes a file and is not allowed in a tool.';
    if (text !== 'settings' && text !== 'format') continue;
    // Otherwise it is a column name.
    const named =
      next?.kind === 'identifier' || (next?.kind === 'word' && !KEYWORDS.has(next.text) && !NOT_A_NAME.has(next.text));
    if (named) return `The clause ${text.toUpperCase()} is not allowed in a tool; Sluice chooses settings and format.`;
  }
  return null;
}

function systemTable(tokens: readonly Lexeme[]): string | null {
  for (const [i, { name, text }] of tokens.entries()) {
    if (name !== 'system' || tokens[i - 1]?.text === '.' || tokens[i + 1]?.text !== '.') continue;
    const table = tokens[i + 2]?.name ?? '';
    if (!SYSTEM_TABLES.has(table)) {
      return `The table ${text}.${table} tells of settings, other callers or the server; it is not allowed in a tool.`;
    }
  }
  return null;
}

/** Finds a refused table function, however it is quoted and however many tables precede it. */
function tableFunction(tokens: readonly Lexeme[]): string | null {
  for (const at of tablePositions(tokens)) {
    const name = tokens[at]?.name ?? '';
    if (name === '' || tokens[at + 1]?.text !== '(' || TABLE_FUNCTIONS.has(name)) continue;
    return `The table function ${name} is not part of what a tool may use; select from the tables of the database.`;
  }
  return null;
}
