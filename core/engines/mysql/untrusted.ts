import { wordsOf } from '#core/engines/shared/trust.ts';

/** What can run code of its maker when a statement only names it: views, functions, tables kept elsewhere. */
export type MysqlUntrusted = readonly { readonly place: string; readonly name: string; readonly kind: string }[];

/** Engines whose tables are read by the server's own code, from its own files. */
const ENGINES = "'InnoDB', 'MyISAM', 'Aria', 'MEMORY', 'ARCHIVE', 'CSV', 'ROCKSDB', 'ndbcluster'";
/** The server's own schemas; what is in them is not listed, so a text that names one is never taken for plain. */
const SYSTEM = ['mysql', 'performance_schema', 'sys'];
const LISTED = `NOT IN ('information_schema', ${SYSTEM.map((name) => `'${name}'`).join(', ')})`;

export const MYSQL_UNTRUSTED = `
  SELECT table_schema AS place, table_name AS name, 'relation' AS kind FROM information_schema.tables
  WHERE table_schema ${LISTED}
    AND (table_type NOT IN ('BASE TABLE', 'SYSTEM VERSIONED') OR engine IS NULL OR engine NOT IN (${ENGINES}))
  UNION SELECT routine_schema, routine_name, 'function' FROM information_schema.routines WHERE routine_schema ${LISTED}`;

/** A name without a schema is one of the connection's own database; functions have no other way into a fixed statement. */
export function namesMysqlUntrusted(text: string, untrusted: MysqlUntrusted, database: string): boolean {
  const words = wordsOf(text);
  if (SYSTEM.some((name) => name === database.toLowerCase() || words.mentions(name))) return true;
  return untrusted.some(
    ({ place, name, kind }) =>
      (words.mentions(name) || (kind === 'function' && !ASCII.test(name))) && (isSame(place, database) || words.mentions(place)),
  );
}

/** The server finds a function by its letters without their accents. */
const ASCII = /^[ -~]*$/;

/** Some servers compare the names of schemas without case. */
const isSame = (one: string, other: string): boolean => one.toLowerCase() === other.toLowerCase();
