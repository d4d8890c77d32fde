import { everyVariant } from './bind.ts';
import { classifyTokens, commandOf, firstOf, lexemes } from './classify-tokens.ts';
import type { Lexeme } from './tokenize.ts';
import type { SqlDialect } from './dialect.ts';
import type { TokenRules, Verdict } from './rules.ts';
import type { Classification, Statement } from './statement.ts';

/**
 * Classifies a statement with every combination of its optional blocks. The session enforces the result. Never throws for an
 * author's mistake.
 */
export async function classify(statement: Statement, dialect: SqlDialect): Promise<Classification> {
  const { variants, complete } = everyVariant(statement, dialect);
  const texts = variants.map(({ text }) => ({ text, tokens: lexemes(text, dialect) }));
  const { rules, refine, runsText } = await dialect.classifier();
  const passthrough = texts.some(({ tokens }) => isPassthrough(tokens, rules));
  const verdicts: Verdict[] = [];
  for (const { text, tokens } of texts) {
    const byTokens = classifyTokens(tokens, rules);
    verdicts.push(refine === undefined || byTokens.command === '' ? byTokens : await refine(text, tokens, byTokens));
  }
  const [first] = verdicts;
  const forbidden = verdicts.find((verdict) => verdict.forbidden !== null)?.forbidden ?? null;
  const lasting = verdicts.find((verdict) => verdict.lasting !== undefined)?.lasting;
  const differs = verdicts.some(({ command }) => command !== first?.command);
  const reason = passthrough
    ? 'A parameter would be run as SQL.'
    : (verdicts.find((verdict) => verdict.reason !== null)?.reason ??
      (differs ? 'Its optional blocks change what kind of statement it is.' : null));
  // An allowed passthrough tool is meant to run a caller's text, so that is not a fault.
  const excused = passthrough && texts.every(({ tokens }) => runsText?.(tokens) === true);
  return {
    command: first?.command ?? '',
    read_only: reason === null,
    fixed: reason === null && complete && verdicts.every((verdict) => verdict.fixed),
    passthrough,
    forbidden: excused ? null : forbidden,
    ...(lasting === undefined ? {} : { lasting }),
    reason,
  };
}

/** Statements whose operand is SQL text. */
const RUNS_TEXT: ReadonlySet<string> = new Set(['execute', 'prepare', 'do', 'call', 'exec']);

/** True when a value from the caller would run as SQL: it is the statement itself, or an argument of something that runs SQL. */
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
