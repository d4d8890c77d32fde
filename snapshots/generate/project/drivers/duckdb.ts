import { statSync } from 'node:fs';
import { AppError } from '#core/errors.ts';
import { type DuckdbEngine, faultOf, openDuckdbEngine } from '#core/engines/duckdb/engine.ts';
import { toDuckdbError } from '#core/engines/duckdb/errors.ts';
import { declaredText } from '#core/engines/duckdb/typed.ts';
import { untilAborted, withDeadline } from '#core/engines/shared/deadline.ts';
import type { BoundStatement, QueryResult, Row } from '#core/lib/sql/result.ts';
import type { Database, Limits } from '../definitions.ts';

const FOLDER = 'This project reads DuckDB from one .duckdb file; import the folder of files into one and set its path.';

/** A read-only `.duckdb` file, opened in this process. Statements run one at a time. */
export function openDuckdb({ path }: { readonly path: string }): Database {
  let opened: Promise<DuckdbEngine> | null = null;
  let last: Promise<unknown> = Promise.resolve();

  function open(): Promise<DuckdbEngine> {
    const found = statSync(path, { throwIfNoEntry: false });
    if (found === undefined) throw new AppError('database_unreachable', 'The DuckDB file does not exist; check its path.');
    if (found.isDirectory()) throw new AppError('database_unreachable', FOLDER);
    return openDuckdbEngine(path);
  }

  async function run(statement: BoundStatement, limits: Limits, stop: AbortSignal): Promise<QueryResult> {
    const { text, values, types } = statement;
    const { max_rows, max_bytes } = limits;
    if (limits.writes) throw new AppError('not_read_only', 'DuckDB connections are read-only.');
    stop.throwIfAborted();
    const engine = await (opened ??= open()).catch((error: unknown) => {
      // A missing or locked file may be available next time.
      opened = null;
      throw error;
    });
    stop.throwIfAborted();
    const interrupt = () => engine.stop();
    stop.addEventListener('abort', interrupt, { once: true });
    try {
      const found = await engine.run({ text: declaredText(statement), values, types, policy: 'read', max_rows, max_bytes });
      return { ...found, rows: JSON.parse(found.rows) as Row[], affected_rows: null };
    } catch (error) {
      stop.throwIfAborted();
      throw error instanceof AppError ? error : toDuckdbError(faultOf(error), text);
    } finally {
      stop.removeEventListener('abort', interrupt);
    }
  }

  return {
    query: (bound, limits) =>
      withDeadline(limits.timeout_ms, limits.signal, (stop) => {
        const found = last.then(() => run(bound, limits, stop));
        last = found.catch(() => undefined);
        return untilAborted(stop, found);
      }),
    close: async () => {
      await last;
      (await opened?.catch(() => null))?.close();
    },
  };
}
