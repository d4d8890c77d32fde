import { createLibsqlRunner } from './runner.ts';
import { toColumns } from './rows.ts';
import { guardedFetch } from '../shared/dial.ts';
import { CATALOGUE_LIMITS, textOf } from '../shared/rows.ts';
import type { ConnectionSettings } from '#core/engines/shared/connection-settings.ts';
import type { DialPolicy, RunOptions, Source } from '#core/engines/shared/source.ts';
import type { Row } from '#core/lib/sql/result.ts';
import { plainWarnings } from '../shared/tls.ts';
import { createCatalogue } from '../sqlite/catalogue.ts';
import { replacesRows } from '../sqlite/count.ts';
import type { SqliteValue } from '../sqlite/values.ts';

const INTERNAL: RunOptions = { mode: 'read', ...CATALOGUE_LIMITS };
export function openLibsql(settings: ConnectionSettings, policy: DialPolicy): Source {
  const runner = createLibsqlRunner(settings, (url, init) => guardedFetch(url, init, policy));

  async function look(text: string, values: readonly SqliteValue[]): Promise<Row[]> {
    return (await runner.converse(INTERNAL, (stream) => runner.read(stream, text, values, INTERNAL))).rows;
  }

  return {
    query: runner.query,
    stream: runner.stream,
    async describe(text, _, signal) {
      const { cols } = await runner.converse({ ...INTERNAL, signal }, (stream) => stream.describe(text));
      return { columns: toColumns(cols) };
    },
    ...createCatalogue(look),
    cannotCount: (text) => replacesRows(text, look),
    async test() {
      const [row] = await look('SELECT sqlite_version() AS version', []);
      // Some servers do not permit this query; there is nothing to warn about then.
      const files = await look(FILE_FUNCTIONS_SQL, []).catch(() => []);
      const warnings = [
        ...(files.length > 0 ? [FILE_FUNCTIONS_WARNING] : []),
        ...(settings.ssl_mode === 'disable' ? plainWarnings(settings) : []),
      ];
      return { server_version: `libSQL (SQLite ${textOf(row?.['version'])})`, warnings, superuser: false };
    },
    sessions: runner.sessions,
    close: runner.close,
  };
}

const FILE_FUNCTIONS_SQL = "SELECT name FROM pragma_function_list WHERE name IN ('readfile', 'writefile') LIMIT 1";
const FILE_FUNCTIONS_WARNING =
  "SQL on this server can read and write its machine's files (readfile, writefile). Sluice blocks them in tools; other clients can use them.";
