import { AppError } from '#core/errors.ts';
import { type SourcePool, mapSources } from '#core/sources/source-pool.ts';

/** What databases said of statements, by connection and statement. */
export type RecordedAnswers = Map<string, unknown>;

/**
 * Sources that note what their databases say of statements, or say it again: what was asked beforehand is not asked while a
 * transaction of the metadata database is open.
 */
export function recordingSources(pool: SourcePool, recalled: RecordedAnswers, mode: 'note' | 'repeat'): SourcePool {
  return mapSources(pool, (source, row) => {
    const asked =
      <A extends unknown[], R>(method: string, ask: (...input: A) => Promise<R>) =>
      async (...input: A): Promise<R> => {
        const key = JSON.stringify([row.id, method, input]);
        if (mode === 'repeat' && recalled.has(key)) return recalled.get(key) as R;
        const answer = await ask(...input);
        const whole = !Array.isArray(answer) || !answer.some((one) => one instanceof AppError);
        if (whole) recalled.set(key, answer);
        return answer;
      };
    return {
      ...source,
      describe: asked('describe', source.describe.bind(source)),
      ...(source.describeAll === undefined ? {} : { describeAll: asked('describeAll', source.describeAll.bind(source)) }),
      ...(source.origins === undefined ? {} : { origins: asked('origins', source.origins.bind(source)) }),
    };
  });
}
