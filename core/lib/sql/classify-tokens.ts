import type { SqlDialect } from './dialect.ts';
import { tokenize, type Lexeme } from './tokenize.ts';
import { type TokenRules, type Verdict, lastingUse } from './rules.ts';

export function lexemes(text: string, dialect: SqlDialect): Lexeme[] {
  return tokenize(text, dialect).flatMap(({ kind, start, end }) => {
    const raw = text.slice(start, end);
    // A hint of MySQL may change settings for the statement; SQLite and PostgreSQL read it as a comment.
    const hint = dialect.hint !== null && kind === 'comment' && raw.startsWith(dialect.hint);
    if (kind === 'space' || (kind === 'comment' && !hint)) return [];
    const lower = raw.toLowerCase();
    return [{ kind, text: lower, name: kind === 'word' ? lower : kind === 'identifier' ? unquoted(lower) : '' }];
  });
}

/** Function names are case-insensitive in all dialects here. */
function unquoted(raw: string): string {
  const quote = raw.at(-1) ?? '';
  const inner = raw.slice(raw.startsWith('u&') ? 3 : 1, -1);
  return quote === ']' ? inner : inner.replaceAll(quote + quote, quote);
}

/** Index of the first token that is neither a parenthesis nor a hint. */
export const firstOf = (tokens: readonly Lexeme[]): number =>
  tokens.findIndex(({ kind, text }) => text !== '(' && kind !== 'comment');

/** First word of the statement after parentheses and comments; empty when there is none. */
export function commandOf(tokens: readonly Lexeme[]): string {
  const first = tokens[firstOf(tokens)];
  return first?.kind === 'word' ? first.text : '';
}

/** Index of the closing parenthesis of each opening one. */
function brackets(tokens: readonly Lexeme[]): Map<number, number> {
  const pairs = new Map<number, number>();
  const open: number[] = [];
  for (const [i, { kind, text }] of tokens.entries()) {
    if (kind !== 'punctuation') continue;
    if (text === '(') open.push(i);
    const start = text === ')' ? open.pop() : undefined;
    if (start !== undefined) pairs.set(start, i);
  }
  return pairs;
}

interface FunctionCall {
  readonly name: string;
  /** After a dot: a function of some schema, never a built-in. */
  readonly qualified: boolean;
}

/** Every possible call: a name before a parenthesis, except names of common table expressions. */
function calls(tokens: readonly Lexeme[], syntax: ReadonlySet<string>): FunctionCall[] {
  const pairs = brackets(tokens);
  const found: FunctionCall[] = [];
  for (const [open, close] of pairs) {
    const before = tokens[open - 1];
    if (tokens[open]?.text !== '(' || !before) continue;
    if (before.kind !== 'word' && before.kind !== 'identifier' && before.kind !== 'string') continue;
    const qualified = tokens[open - 2]?.text === '.';
    if (before.kind === 'word' && !qualified && syntax.has(before.text)) continue;
    // AS name (…) lists columns or the length of a type; name (…) AS (…) defines a common table expression.
    if (tokens[open - 2]?.kind === 'word' && tokens[open - 2]?.text === 'as') continue;
    if (!isCommonTable(tokens, close)) found.push({ name: before.name, qualified });
  }
  return found;
}

/** AS (, AS MATERIALIZED ( or AS NOT MATERIALIZED (. Without a parenthesis, MATERIALIZED is an ordinary name. */
function isCommonTable(tokens: readonly Lexeme[], close: number): boolean {
  const behind = tokens.slice(close + 1, close + 5).map(({ text }) => text);
  return /^as (?:(?:not )?materialized )?\( /.test(`${behind.join(' ')} `);
}

/**
 * Classifies a text by its tokens. A text that begins with a reading word and has no reserved writing word outside names and
 * strings can only write through a function; unknown functions and words make it not `fixed`.
 */
export function classifyTokens(tokens: readonly Lexeme[], rules: TokenRules): Verdict {
  const command = commandOf(tokens);
  const called = rules.every_name_calls
    ? tokens.filter(({ name }) => name !== '').map(({ name }) => ({ name, qualified: true }))
    : calls(tokens, rules.syntax);
  const forbidden = rules.forbidden.get(command) ?? forbiddenUse(tokens, called, rules);
  if (forbidden !== null) return { command, read_only: false, fixed: false, forbidden, reason: forbidden };
  const reason = rules.reads.has(command)
    ? (writingWord(tokens, rules) ?? writingUse(tokens, called, rules))
    : command === ''
      ? 'It does not begin with an SQL keyword.'
      : `A statement that begins with ${command.toUpperCase()} is not read-only.`;
  const settled = called.every(({ name, qualified }) => !qualified && rules.functions.has(name));
  const plain = tokens.every(({ kind }) => kind !== 'variable' && kind !== 'comment');
  const fixed = reason === null && settled && plain && FIXED_COMMANDS.has(command);
  const lasting = lastingIn(tokens, called, rules);
  return { command, read_only: reason === null, fixed, forbidden: null, reason, ...(lasting === null ? {} : { lasting }) };
}

const EXPLAINS: ReadonlySet<string> = new Set(['explain', 'describe', 'desc']);

const FIXED_COMMANDS: ReadonlySet<string> = new Set(['select', 'with', 'values']);

function forbiddenUse(tokens: readonly Lexeme[], called: readonly FunctionCall[], rules: TokenRules): string | null {
  // SQLite runs some pragmas while explaining them.
  const explained = tokens[tokens[1]?.text === 'query' ? 3 : 1];
  const sentence = tokens[0]?.text === 'explain' ? rules.forbidden.get(explained?.text ?? '') : undefined;
  if (sentence !== undefined) return sentence;
  const named = forbiddenName(tokens, rules) ?? forbiddenModule(tokens, rules);
  if (named !== null) return named;
  for (const { name } of called) {
    const effect = rules.forbiddenFunctions.get(name);
    if (effect !== undefined) return `The function ${name} ${effect}; it is not allowed in a tool.`;
  }
  if (tokens.some(({ kind }) => kind === 'executable')) return 'Comments that MySQL executes are not allowed in a tool.';
  return rules.forbiddenUse(tokens);
}

/** SQLite reads 'a string' as a table name where a table is expected. */
const BEFORE_TABLES: ReadonlySet<string> = new Set(['from', 'join', 'into', 'update', 'using', ',', '(', '.']);

/** Finds forbidden names: functions before a parenthesis and names of tables, quoted or not. */
function forbiddenName(tokens: readonly Lexeme[], rules: TokenRules): string | null {
  for (const [i, token] of tokens.entries()) {
    const isText = token.kind === 'string' && rules.texts_name_tables && BEFORE_TABLES.has(tokens[i - 1]?.text ?? '');
    const name = isText ? unquoted(token.text) : token.name;
    if (name === '') continue;
    const effect =
      rules.forbiddenTables.get(name) ?? (tokens[i + 1]?.text === '(' ? rules.forbiddenFunctions.get(name) : undefined);
    if (effect !== undefined)
      return `The ${tokens[i + 1]?.text === '(' ? 'function' : 'table'} ${name} ${effect}; it is not allowed in a tool.`;
  }
  return null;
}

function forbiddenModule(tokens: readonly Lexeme[], { modules }: TokenRules): string | null {
  if (modules === null || !['create', 'alter'].includes(tokens[0]?.text ?? '')) return null;
  if (modules.behind === 'using' && tokens[1]?.text !== 'virtual') return null;
  for (const [i, { text }] of tokens.entries()) {
    if (text !== modules.behind) continue;
    const token = tokens[tokens[i + 1]?.text === '=' ? i + 2 : i + 1];
    const name = token?.kind === 'string' ? unquoted(token.text) : (token?.name ?? '');
    if (!modules.isAllowed(name)) return `Tables that ${name} keeps access files or other servers and are not allowed in a tool.`;
  }
  return null;
}

/** A reserved word that writes, unless it is a column (t.update) or a function (REPLACE(…), INSERT(…)). */
function writingWord(tokens: readonly Lexeme[], rules: TokenRules): string | null {
  for (const [i, { kind, text }] of tokens.entries()) {
    if (kind !== 'word' || !rules.writing.has(text) || tokens[i - 1]?.text === '.') continue;
    const isCall = tokens[i + 1]?.text === '(' && rules.functions.has(text);
    const isShown = tokens[0]?.text === 'show' && i < 3;
    if (!isCall && !isShown) return `It holds ${text.toUpperCase()}.`;
  }
  return null;
}

const SEQUENCE = 'It advances a sequence';

function lastingIn(tokens: readonly Lexeme[], called: readonly FunctionCall[], rules: TokenRules): string | null {
  for (const { name } of called) {
    const effect = rules.lastingFunctions.get(name) ?? (rules.runsSql.has(name) ? RUNS_TEXT : undefined);
    if (effect !== undefined) return lastingUse(name, effect);
  }
  return tokens.some((_, i) => isNextValue(tokens, i)) ? `${SEQUENCE}, which a rollback does not undo.` : null;
}

/** NEXT VALUE FOR s and s.nextval. */
function isNextValue(tokens: readonly Lexeme[], i: number): boolean {
  const [before, now, after] = [tokens[i - 1]?.text, tokens[i], tokens[i + 1]?.text];
  if (now?.kind !== 'word') return false;
  return (now.text === 'value' && after === 'for' && before === 'next') || (now.text === 'nextval' && before === '.');
}

const RUNS_TEXT = 'runs SQL text that was not checked';

function writingUse(tokens: readonly Lexeme[], called: readonly FunctionCall[], rules: TokenRules): string | null {
  for (const { name } of called) {
    const effect = rules.writingFunctions.get(name);
    if (effect !== undefined) return `The function ${name} ${effect}.`;
    if (rules.runsSql.has(name)) return `The function ${name} ${RUNS_TEXT}.`;
  }
  for (const [i, { kind, text, name }] of tokens.entries()) {
    const next = tokens[i + 1]?.text;
    if (rules.pragmas !== null && name.startsWith('pragma_') && !rules.pragmas.has(name)) {
      return `${name} is not known to be read-only.`;
    }
    if (kind === 'variable' && !text.startsWith('@@')) return 'Variables of the session outlive a call.';
    if (kind !== 'word') continue;
    if (text === 'for' && (next === 'update' || next === 'share')) return 'It locks rows (FOR UPDATE or FOR SHARE).';
    if (isNextValue(tokens, i)) return `${SEQUENCE}.`;
    if (text === 'analyze' && EXPLAINS.has(commandOf(tokens)) && tokens[i - 1]?.text !== '.')
      return 'EXPLAIN ANALYZE runs the statement.';
  }
  return null;
}
