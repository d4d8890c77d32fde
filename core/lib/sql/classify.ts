import { everyVariant } from './bind.ts';
import { classifyPostgres, PostgresSyntaxError } from './classify-postgresql.ts';
import { classifyTokens, commandOf, firstOf, type Lexeme, lexemes } from './classify-tokens.ts';
import { MYSQL_RULES } from './rules-mysql.ts';
import { POSTGRESQL_RULES } from './rules-postgresql.ts';
import { SQLITE_RULES } from './rules-sqlite.ts';
import type { TokenRules, Verdict } from './rules.ts';
import type { Classification, Dialect, Statement } from './statement.ts';

const RULES: Readonly<Record<Dialect, TokenRules>> = { postgresql: POSTGRESQL_RULES, mysql: MYSQL_RULES, sqlite: SQLITE_RULES };

/**
 * What a statement claims to do, in every form that its optional blocks allow. A claim only: the session enforces it. Never
 * throws for what the author wrote.
 */
export async function classify(statement: Statement): Promise<Classification> {
  const { variants, complete } = everyVariant(statement);
  const texts = variants.map(({ text }) => ({ text, tokens: lexemes(text, statement.dialect) }));
  const rules = RULES[statement.dialect];
  const passthrough = texts.some(({ tokens }) => isPassthrough(tokens, rules));
  const verdicts: Verdict[] = [];
  for (const { text, tokens } of texts) verdicts.push(await judge(text, tokens, statement.dialect, rules));
  const [first] = verdicts;
  const forbidden = verdicts.find((verdict) => verdict.forbidden !== null)?.forbidden ?? null;
  const differs = verdicts.some(({ command }) => command !== first?.command);
  const reason = passthrough
    ? 'A parameter would be run as SQL.'
    : (verdicts.find((verdict) => verdict.reason !== null)?.reason ??
      (differs ? 'Its optional blocks change what kind of statement it is.' : null));
  // Running a caller's text is the point of an allowed passthrough tool, not an oversight in it.
  const excused =
    passthrough &&
    statement.dialect === 'mysql' &&
    first?.command === 'execute' &&
    texts.every(({ tokens }) => tokens[1]?.text === 'immediate');
  return {
    command: first?.command ?? '',
    read_only: reason === null,
    fixed: reason === null && complete && verdicts.every((verdict) => verdict.fixed),
    passthrough,
    forbidden: excused ? null : forbidden,
    reason,
  };
}

async function judge(text: string, tokens: readonly Lexeme[], dialect: Dialect, rules: TokenRules): Promise<Verdict> {
  const byTokens = classifyTokens(tokens, dialect, rules);
  if (dialect !== 'postgresql' || byTokens.command === '') return byTokens;
  try {
    return await classifyPostgres(text, byTokens.command);
  } catch (error) {
    if (!(error instanceof PostgresSyntaxError)) throw error;
    // CockroachDB and Redshift know SELECTs that PostgreSQL does not; what PostgreSQL itself refuses never runs there.
    const hidden = tokens.some(({ kind, text }) => kind === 'identifier' && text.startsWith('u&'));
    const reason = byTokens.reason ?? (hidden ? 'It contains an escaped name that could not be checked.' : null);
    return { ...byTokens, read_only: reason === null, fixed: false, reason: reason && `${reason} (${error.message})` };
  }
}

/** Statements whose operand is SQL text. */
const RUNS_TEXT: ReadonlySet<string> = new Set(['execute', 'prepare', 'do', 'call', 'exec']);

/** True when a value from the caller would be SQL: the statement itself, or the text given to something that runs SQL. */
function isPassthrough(tokens: readonly Lexeme[], rules: TokenRules): boolean {
  const command = commandOf(tokens);
  if (command === '') return tokens[firstOf(tokens)]?.kind === 'placeholder';
  if (RUNS_TEXT.has(command) && command !== 'call') return tokens.some(({ kind }) => kind === 'placeholder');
  return tokens.some(({ name }, i) => rules.runsSql.has(name) && tokens[i + 1]?.text === '(' && holdsPlaceholder(tokens, i + 1));
}

function holdsPlaceholder(tokens: readonly Lexeme[], open: number): boolean {
  let depth = 0;
  for (let i = open; i < tokens.length; i++) {
    if (tokens[i]?.text === '(') depth++;
    if (tokens[i]?.text === ')' && --depth === 0) return false;
    if (tokens[i]?.kind === 'placeholder') return true;
  }
  return false;
}
