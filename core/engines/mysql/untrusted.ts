import { wordsOf } from '#core/engines/shared/trust.ts';

/** Objects that can run their author's code when a statement names them: views, functions, tables stored elsewhere. */
export type MysqlUntrusted = readonly { readonly schema: string; readonly name: string; readonly kind: string }[];

/** Engines whose tables are read by the server's built-in code, from local files. */
const ENGINES = "'InnoDB', 'MyISAM', 'Aria', 'MEMORY', 'ARCHIVE', 'CSV', 'ROCKSDB', 'ndbcluster'";
/** System schemas. Their contents are not listed, so a text that names one is never trusted. */
const SYSTEM = ['mysql', 'performance_schema', 'sys'];
const LISTED = `NOT IN ('information_schema', ${SYSTEM.map((name) => `'${name}'`).join(', ')})`;

export const MYSQL_UNTRUSTED = `
  SELECT table_schema AS \`schema\`, table_name AS name, 'relation' AS kind FROM information_schema.tables
  WHERE table_schema ${LISTED}
    AND (table_type NOT IN ('BASE TABLE', 'SYSTEM VERSIONED') OR engine IS NULL OR engine NOT IN (${ENGINES}))
  UNION SELECT routine_schema, routine_name, 'function' FROM information_schema.routines WHERE routine_schema ${LISTED}`;

/** An unqualified name belongs to the connection's database; fixed statements cannot reach functions any other way. */
export function namesMysqlUntrusted(text: string, untrusted: MysqlUntrusted, database: string): boolean {
  const words = wordsOf(text);
  if (SYSTEM.some((name) => name === database.toLowerCase() || words.mentions(name))) return true;
  return untrusted.some(
    ({ schema, name, kind }) =>
      (words.mentions(name) || (kind === 'function' && !ASCII.test(name))) &&
      (isSame(schema, database) || words.mentions(schema)),
  );
}

/** The server ignores accents when it looks up a function. */
const ASCII = /^[ -~]*$/;

/** Some servers compare schema names case-insensitively. */
const isSame = (one: string, other: string): boolean => one.toLowerCase() === other.toLowerCase();
