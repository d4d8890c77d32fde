import { type Verdict, lastingUse, words } from '#core/lib/sql/rules.ts';
import {
  FORBIDDEN_FUNCTIONS,
  FORBIDDEN_NODES,
  FORBIDDEN_TABLES,
  LASTING_FUNCTIONS,
  SAFE_FUNCTIONS,
  SAFE_OPERATORS,
  SAFE_TYPES,
  UNSETTLED_FUNCTIONS,
  WRITING_FUNCTIONS,
} from './rules.ts';

type Tree = Readonly<Record<string, unknown>>;

/** The text is not PostgreSQL. The message is the parser's; the position counts characters from 0. */
export class PostgresSyntaxError extends Error {
  override readonly name = 'PostgresSyntaxError';
}

/**
 * Classifies a text with `$n` placeholders with PostgreSQL's grammar. Every node is visited, and an unknown kind of node is not
 * read-only. Throws PostgresSyntaxError when the grammar refuses the text.
 */
export async function classifyPostgres(text: string, command: string): Promise<Verdict> {
  const { loadModule, parseSync } = await import('libpg-query');
  await loadModule();
  const parsed = parseText(parseSync, text);
  if (parsed === null) return refused(command, TOO_DEEP);
  const [statement, ...more] = parsed;
  const root = object(statement)?.['stmt'];
  const [kind, node] = unwrap(root) ?? [];
  if (kind === undefined || node === undefined || more.length > 0) return refused(command, 'It is not exactly one statement.');
  const forbidden = FORBIDDEN_NODES.get(kind);
  if (forbidden !== undefined) return { command, read_only: false, fixed: false, forbidden, reason: forbidden };
  const findings: Findings = { forbidden: null, writes: null, lasting: null, unsettled: false, qualified: [], ranges: new Map() };
  try {
    if (kind === 'ExplainStmt') explain(node, findings);
    else visit(kind, node, findings);
  } catch (error) {
    if (error instanceof RangeError) return refused(command, TOO_DEEP);
    throw error;
  }
  settleRanges(findings);
  const reason = findings.forbidden ?? findings.writes;
  const fixed = reason === null && kind === 'SelectStmt' && !findings.unsettled;
  const lasting = findings.lasting === null ? {} : { lasting: findings.lasting };
  return { command, read_only: reason === null, fixed, forbidden: findings.forbidden, reason, ...lasting };
}

interface Findings {
  forbidden: string | null;
  writes: string | null;
  lasting: string | null;
  /** True when something outside the closed lists is used. */
  unsettled: boolean;
  /** Relation and last name of every a.b, which may be a call b(a). */
  readonly qualified: (readonly [string, string])[];
  /** Column names of each function in FROM, by its alias. */
  readonly ranges: Map<string, ReadonlySet<string>>;
}

const TOO_DEEP = 'It is nested too deeply to be checked.';

function parseText(parse: (text: string) => unknown, text: string): unknown[] | null {
  try {
    const statements = object(parse(text))?.['stmts'];
    return Array.isArray(statements) ? statements : [];
  } catch (error) {
    // The parser's stack is exhausted; any other error is a syntax error.
    if (error instanceof RangeError || error instanceof WebAssembly.RuntimeError) return null;
    throw new PostgresSyntaxError(error instanceof Error ? error.message : 'The statement cannot be parsed.', { cause: error });
  }
}

const refused = (command: string, reason: string): Verdict => ({
  command,
  read_only: false,
  fixed: false,
  forbidden: null,
  reason,
});

const object = (value: unknown): Tree | undefined =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Tree) : undefined;

/** The kind and content of `{Kind: {…}}`. libpg-query omits the wrapper for fields with a fixed kind. */
function unwrap(value: unknown): [string, Tree] | undefined {
  const keys = Object.keys(object(value) ?? {});
  const [kind] = keys;
  if (keys.length !== 1 || kind === undefined || !/^[A-Z]/.test(kind)) return undefined;
  const content = object(object(value)?.[kind]);
  return content && [kind, content];
}

/** Kinds of the fields without a wrapper. */
const BARE: Readonly<Record<string, string>> = {
  larg: 'SelectStmt',
  rarg: 'SelectStmt',
  withClause: 'WithClause',
  typeName: 'TypeName',
  intoClause: 'IntoClause',
  alias: 'Alias',
  join_using_alias: 'Alias',
  over: 'WindowDef',
  relation: 'RangeVar',
  collClause: 'CollateClause',
  search_clause: 'CTESearchClause',
  cycle_clause: 'CTECycleClause',
  output: 'JsonOutput',
  returning: 'JsonReturning',
  format: 'JsonFormat',
  context_item: 'JsonValueExpr',
  formatted_expr: 'JsonValueExpr',
  on_empty: 'JsonBehavior',
  on_error: 'JsonBehavior',
  pathspec: 'JsonTablePathSpec',
  constructor: 'JsonAggConstructor',
  value: 'JsonValueExpr',
  expr: 'JsonValueExpr',
  arg: 'JsonKeyValue',
  val: 'JsonValueExpr',
  // The content of a constant.
  ival: 'Integer',
  fval: 'Float',
  sval: 'String',
  boolval: 'Boolean',
  bsval: 'BitString',
};

/** Kinds that are read-only if everything inside them is. */
const READING = words(`
SelectStmt ResTarget ColumnRef A_Star String Integer Float Boolean BitString A_Const ParamRef A_Expr A_Indirection A_Indices
A_ArrayExpr FuncCall TypeCast TypeName CollateClause BoolExpr NullTest BooleanTest SubLink CaseExpr CaseWhen CoalesceExpr MinMaxExpr
SQLValueFunction XmlExpr XmlSerialize RowExpr GroupingFunc GroupingSet NamedArgExpr RangeVar RangeSubselect RangeFunction
RangeTableSample RangeTableFunc RangeTableFuncCol JoinExpr Alias SortBy WindowDef WithClause CommonTableExpr CTESearchClause
CTECycleClause List ColumnDef JsonTable JsonTableColumn JsonTablePathSpec JsonFuncExpr JsonValueExpr JsonFormat JsonReturning
JsonOutput JsonBehavior JsonArgument JsonKeyValue JsonObjectConstructor JsonArrayConstructor JsonArrayQueryConstructor
JsonAggConstructor JsonObjectAgg JsonArrayAgg JsonIsPredicate JsonParseExpr JsonScalarExpr JsonSerializeExpr VariableShowStmt`);

const WRITING: Readonly<Record<string, string>> = {
  InsertStmt: 'It inserts rows.',
  UpdateStmt: 'It updates rows.',
  DeleteStmt: 'It deletes rows.',
  MergeStmt: 'It merges rows.',
  IntoClause: 'SELECT INTO creates a table.',
  LockingClause: 'It locks rows (FOR UPDATE or FOR SHARE).',
  LockStmt: 'It locks a table.',
  CallStmt: 'It calls a procedure, which may write.',
  NotifyStmt: 'It sends a notification.',
};

/** Visits one node and everything below it. */
function visit(kind: string, node: Tree, findings: Findings): void {
  if (!READING.has(kind)) {
    findings.writes ??= WRITING[kind] ?? `It contains ${kind.replace(/Stmt$/, '')}, which is not known to be read-only.`;
  }
  INSPECT[kind]?.(node, findings);
  for (const [field, value] of Object.entries(node)) visitField(field, value, findings);
}

function visitField(field: string, value: unknown, findings: Findings): void {
  if (Array.isArray(value)) {
    for (const item of value) visitField(field, item, findings);
    return;
  }
  const content = object(value);
  if (!content || Object.keys(content).length === 0) return;
  const wrapped = unwrap(value);
  if (wrapped) return visit(...wrapped, findings);
  const kind = Object.hasOwn(BARE, field) ? BARE[field] : undefined;
  visit(kind ?? `an unknown part (${field})`, content, findings);
}

/** EXPLAIN only plans, but with ANALYZE it runs the statement, including its writes. */
function explain(node: Tree, findings: Findings): void {
  const options = Array.isArray(node['options']) ? node['options'] : [];
  for (const option of options) {
    const [, content] = unwrap(option) ?? [];
    if (content?.['defname'] === 'analyze') findings.writes ??= 'EXPLAIN ANALYZE runs the statement.';
  }
  visitField('query', node['query'], findings);
}

const INSPECT: Readonly<Record<string, (node: Tree, findings: Findings) => void>> = {
  FuncCall(node, findings) {
    call(names(node['funcname']), findings);
  },
  ColumnRef(node, findings) {
    const fields = names(node['fields']);
    const last = fields.at(-1);
    const relation = fields.at(-2);
    if (last === undefined || relation === undefined) return;
    // a.b can also mean b(a): from unnest(array['/']) a selects pg_ls_dir(a) as a.pg_ls_dir.
    attribute(last, findings);
    findings.qualified.push([relation, last]);
  },
  A_Indirection(node, findings) {
    for (const name of names(node['indirection'])) {
      attribute(name, findings);
      findings.unsettled = true;
    }
  },
  A_Expr(node, findings) {
    operator(names(node['name']), node['kind'], findings);
  },
  SubLink(node, findings) {
    operator(names(node['operName']), undefined, findings);
  },
  SortBy(node, findings) {
    operator(names(node['useOp']), undefined, findings);
  },
  TypeName(node, findings) {
    const [first, second, third] = names(node['names']);
    const builtIn = second === undefined ? first : first === 'pg_catalog' && third === undefined ? second : undefined;
    if (builtIn === undefined || !SAFE_TYPES.has(builtIn) || node['pct_type'] === true) findings.unsettled = true;
  },
  RangeVar(node, findings) {
    const name = String(node['relname']);
    const forbidden = FORBIDDEN_TABLES.get(name);
    if (forbidden !== undefined) findings.forbidden ??= `The table ${name} ${forbidden}; it is not allowed in a tool.`;
  },
  RangeTableSample(node, findings) {
    const [method, more] = names(node['method']);
    if (more !== undefined || (method !== 'system' && method !== 'bernoulli')) findings.unsettled = true;
  },
  RangeFunction(node, findings) {
    const alias = object(node['alias']);
    const declared = Array.isArray(node['coldeflist']) ? node['coldeflist'].map((column) => unwrap(column)?.[1]['colname']) : [];
    const columns = new Set([...names(alias?.['colnames']), ...declared.filter((name) => typeof name === 'string'), ...OUTPUTS]);
    const calls = JSON.stringify(node['functions'] ?? null);
    const called = [...calls.matchAll(/"FuncCall":\{"funcname":(\[.*?\])/g)].map(([, list]) =>
      names(JSON.parse(list ?? '[]')).at(-1),
    );
    const aliased = alias?.['aliasname'];
    for (const name of typeof aliased === 'string' ? [aliased] : called)
      if (name !== undefined) findings.ranges.set(name, columns);
  },
};

/** Output columns of built-in functions that return records. */
const OUTPUTS = words(
  'ordinality key value lexeme positions weights word ndoc nentry alias description token dictionaries dictionary lexemes',
);

function settleRanges(findings: Findings): void {
  for (const [relation, name] of findings.qualified) {
    if (findings.ranges.get(relation)?.has(name) === false) findings.unsettled = true;
  }
}

/** The names in a list of strings; a star or subscript has none. */
function names(list: unknown): string[] {
  if (!Array.isArray(list)) return [];
  return list.flatMap((item) => {
    const text = object(object(item)?.['String'])?.['sval'];
    return typeof text === 'string' ? [text] : [];
  });
}

function call(path: readonly string[], findings: Findings): void {
  const name = path.at(-1) ?? '';
  deny(name, findings);
  const builtIn = path.length === 1 || (path.length === 2 && path[0] === 'pg_catalog');
  if (!builtIn || !SAFE_FUNCTIONS.has(name)) findings.unsettled = true;
}

function attribute(name: string, findings: Findings): void {
  deny(name, findings);
  if (UNSETTLED_FUNCTIONS.has(name)) findings.unsettled = true;
}

function deny(name: string, findings: Findings): void {
  const forbidden = FORBIDDEN_FUNCTIONS.get(name);
  if (forbidden !== undefined) findings.forbidden ??= `The function ${name} ${forbidden}; it is not allowed in a tool.`;
  const writes = WRITING_FUNCTIONS.get(name);
  if (writes !== undefined) findings.writes ??= `The function ${name} ${writes}.`;
  const lasting = LASTING_FUNCTIONS.get(name);
  if (lasting !== undefined) findings.lasting ??= lastingUse(name, lasting);
}

/** Kinds of A_Expr whose name is a keyword of the grammar. */
const KEYWORD_EXPRESSIONS = words('AEXPR_BETWEEN AEXPR_NOT_BETWEEN AEXPR_BETWEEN_SYM AEXPR_NOT_BETWEEN_SYM');

function operator(path: readonly string[], kind: unknown, findings: Findings): void {
  if (path.length === 0 || (typeof kind === 'string' && KEYWORD_EXPRESSIONS.has(kind))) return;
  const name = path.at(-1) ?? '';
  if (path.length > 2 || (path.length === 2 && path[0] !== 'pg_catalog') || !SAFE_OPERATORS.has(name)) findings.unsettled = true;
}
