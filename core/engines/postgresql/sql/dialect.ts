import type { Classifier, SqlDialect } from '#core/lib/sql/dialect.ts';
import { POSTGRESQL_RULES } from './rules.ts';
import type { Lexeme } from '#core/lib/sql/tokenize.ts';
import type { Verdict } from '#core/lib/sql/rules.ts';
import { classifyPostgres, PostgresSyntaxError } from './classify.ts';
import { POSTGRESQL_PAGES } from './page-keys.ts';
import { scanPostgres } from './scanner.ts';

export const POSTGRESQL_CLASSIFIER: Classifier = { rules: POSTGRESQL_RULES, refine };

export const POSTGRESQL_DIALECT: SqlDialect = {
  name: 'postgresql',
  scan: scanPostgres,
  placeholder: (number) => `$${number}`,
  unlimited: null,
  reuses: true,
  describes_uses: true,
  no_row: null,
  question_operator: true,
  bracket_names: false,
  hint: null,
  pages: POSTGRESQL_PAGES,
  classifier: async () => (await import('./dialect.ts')).POSTGRESQL_CLASSIFIER,
};

async function refine(text: string, tokens: readonly Lexeme[], byTokens: Verdict): Promise<Verdict> {
  try {
    return await classifyPostgres(text, byTokens.command);
  } catch (error) {
    if (!(error instanceof PostgresSyntaxError)) throw error;
    // CockroachDB and Redshift accept SELECTs that PostgreSQL's grammar refuses. Those never run on PostgreSQL.
    const hidden = tokens.some((token) => token.kind === 'identifier' && token.text.startsWith('u&'));
    const reason = byTokens.reason ?? (hidden ? 'It holds a name in escapes that could not be checked.' : null);
    return { ...byTokens, read_only: reason === null, fixed: false, reason: reason && `${reason} (${error.message})` };
  }
}
