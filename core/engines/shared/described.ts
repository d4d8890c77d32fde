import { AppError } from '#core/errors.ts';
import type { BoundStatement, Description } from './source.ts';

type Asked = Pick<BoundStatement, 'text' | 'types'>;

/** From so many statements on it pays to ask first whether anything changed. */
const MANY = 50;

export interface DescribedMemory {
  /** Answers from memory what was asked before under the same catalogue, and asks for the rest. */
  describeAll(statements: readonly Asked[]): Promise<(Description | AppError)[]>;
}

/** @param fingerprint of the catalogue now, or null where the database has none. */
export function createDescribedMemory(
  fingerprint: () => Promise<string | null>,
  ask: (statements: readonly Asked[]) => Promise<(Description | AppError)[]>,
): DescribedMemory {
  let known = { fingerprint: '', texts: new Map<string, Description>() };
  return {
    async describeAll(statements) {
      if (statements.length < MANY) return ask(statements);
      const now = await fingerprint();
      if (now === null) return ask(statements);
      const before = known.fingerprint === now ? known.texts : new Map<string, Description>();
      const missing = statements.filter((statement) => !before.has(keyOf(statement)));
      const answers = missing.length === 0 ? [] : await ask(missing);
      const asked = new Map(missing.map((statement, n) => [keyOf(statement), answers[n]]));
      // Only what is asked about now is kept, and no refusal.
      const texts = new Map<string, Description>();
      const described = statements.map((statement) => {
        const key = keyOf(statement);
        const answer = before.get(key) ?? asked.get(key) ?? new AppError('internal', 'The database gave no description.');
        if (!(answer instanceof AppError)) texts.set(key, answer);
        return answer;
      });
      known = { fingerprint: now, texts };
      return described;
    },
  };
}

const keys = new WeakMap<Asked, string>();
/** Worked out once for a statement that comes as the same object again. */
function keyOf(asked: Asked): string {
  const known = keys.get(asked);
  if (known !== undefined) return known;
  const key = `${JSON.stringify(asked.types)} ${asked.text}`;
  keys.set(asked, key);
  return key;
}
