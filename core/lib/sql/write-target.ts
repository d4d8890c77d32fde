import type { SqlDialect } from './dialect.ts';
import { words } from './rules.ts';
import type { Statement } from './statement.ts';
import { type StatementTokens, statementTokens } from './statement-tokens.ts';
import { KEYWORDS } from './tokenize.ts';

/** Words allowed between a verb and its table; `or` includes the word after it. */
const VERBS: Readonly<Record<string, { readonly between: ReadonlySet<string>; readonly needs: string | null }>> = {
  insert: { between: words('or low_priority delayed high_priority ignore into'), needs: null },
  replace: { between: words('low_priority delayed into'), needs: null },
  update: { between: words('or low_priority ignore only'), needs: null },
  delete: { between: words('low_priority quick ignore from only'), needs: 'from' },
  merge: { between: words('into only'), needs: 'into' },
};
/** Parts of a name: database, schema, table. */
const MAX_NAME_PARTS = 3;
const LONGEST = 128;
const MOST_TARGETS = 3;

/**
 * The command and table that a statement writes, such as `DELETE FROM notes`, including common table expressions that write. Null
 * when that is not certain.
 */
export function writeTarget({ nodes }: Pick<Statement, 'nodes'>, dialect: SqlDialect): string | null {
  const [target, without] = [true, false].map((blocks) => targetsOf(statementTokens(nodes, dialect, blocks)));
  // It must be the same with and without optional blocks.
  return target !== undefined && target === without ? target : null;
}

function targetsOf(its: StatementTokens): string | null {
  const within = its.tokens.flatMap((_, at) => (textAt(its, at - 1) === '(' && beginsWrite(its, at) ? [at] : []));
  const main = mainAt(its);
  // The main query only reads what its common table expressions wrote.
  const candidates = within.length > 0 && wordAt(its, main) === 'select' ? within : [...within, main];
  const targets = candidates.map((at) => targetAt(its, at));
  if (targets.includes(null) || targets.length > MOST_TARGETS) return null;
  return [...new Set(targets)].join(' and ');
}

/** Functions with the name of a verb are followed by a parenthesis. */
const beginsWrite = (its: StatementTokens, at: number): boolean =>
  Object.hasOwn(VERBS, wordAt(its, at)) && textAt(its, at + 1) !== '(';

const textAt = ({ sql, tokens }: StatementTokens, at: number): string => {
  const token = tokens[at];
  return token === undefined ? '' : sql.slice(token.start, token.end);
};
const wordAt = (its: StatementTokens, at: number): string =>
  its.tokens[at]?.kind === 'word' ? textAt(its, at).toLowerCase() : '';

/** Index at which the statement starts after its common table expressions. -1: unknown. */
function mainAt(its: StatementTokens): number {
  if (wordAt(its, 0) !== 'with') return 0;
  let depth = 0;
  for (let at = 1; at < its.tokens.length; at++) {
    const text = textAt(its, at);
    if (text === '(') depth++;
    if (text !== ')' || --depth > 0) continue;
    if (wordAt(its, at + 1) !== 'as' && textAt(its, at + 1) !== ',') return at + 1;
  }
  return -1;
}

function targetAt(its: StatementTokens, start: number): string | null {
  let at = start;
  const command = wordAt(its, at);
  const verb = Object.hasOwn(VERBS, command) ? VERBS[command] : undefined;
  if (verb === undefined) return null;
  const words = [command];
  for (at++; verb.between.has(wordAt(its, at)); at++) {
    words.push(wordAt(its, at));
    if (words.at(-1) === 'or') words.push(wordAt(its, ++at));
  }
  if (verb.needs !== null && !words.includes(verb.needs)) return null;
  const from = at;
  while (isName(its, at) && textAt(its, at + 1) === '.' && at - from < 2 * MAX_NAME_PARTS) at += 2;
  if (!isName(its, at) || !endsTarget(its, at + 1, command)) return null;
  const name = its.sql.slice(its.tokens[from]?.start, its.tokens[at]?.end);
  return name.length > LONGEST ? null : `${words.join(' ').toUpperCase()} ${name}`;
}

const isName = (its: StatementTokens, at: number): boolean =>
  its.tokens[at]?.kind === 'identifier' || (its.tokens[at]?.kind === 'word' && !KEYWORDS.has(wordAt(its, at)));

/** Whether no other table follows. In MySQL one statement can change several tables. */
function endsTarget(its: StatementTokens, at: number, command: string): boolean {
  if (command !== 'update') return textAt(its, at) !== ',' && textAt(its, at) !== '.';
  const alias = textAt(its, at) === '*' ? at + 1 : at;
  const named = wordAt(its, alias) === 'as' ? alias + 1 : alias;
  return wordAt(its, named) === 'set' || (isName(its, named) && wordAt(its, named + 1) === 'set');
}
