import type { Column } from '#core/lib/sql/result.ts';
import { canonical } from '#snapshots/format/canonical.ts';

/** Sentences about one definition. A replaced table would give very many. */
const MAX_SENTENCES = 10;

/** How the columns of a result changed, in sentences. Their order counts only when nothing else differs. */
export function columnDifferences(before: readonly Column[], after: readonly Column[]): string[] {
  const [old, now] = [byName(before), byName(after)];
  const found = [...old].flatMap(([name, column]) => {
    const other = now.get(name);
    if (other === undefined) return [`The column ${name} is gone.`];
    if (other.type === column.type && other.kind === column.kind) return [];
    return [`The column ${name} is ${other.type} instead of ${column.type}.`];
  });
  for (const name of now.keys()) if (!old.has(name)) found.push(`The column ${name} is new.`);
  const reordered = found.length === 0 && [...old.keys()].join('\n') !== [...now.keys()].join('\n');
  return bounded(reordered ? ['The columns come in another order.'] : found);
}

const byName = (columns: readonly Column[]): Map<string, Column> => new Map(columns.map((column) => [column.name, column]));

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
}

/** How the output schema of a result changed, for when its columns are not known. @param named whether to compare only names. */
export function schemaDifferences(before: unknown, after: unknown, named: boolean): string[] {
  const [old, now] = [columnsIn(before as Schema), columnsIn(after as Schema)];
  if (old === null || now === null) return [];
  const found = Object.entries(old).flatMap(([name, schema]) => {
    const other = now[name];
    if (other === undefined) return [`The column ${name} is gone.`];
    return named || canonical(schema) === canonical(other) ? [] : [`The column ${name} has another type.`];
  });
  for (const name of Object.keys(now)) if (old[name] === undefined) found.push(`The column ${name} is new.`);
  return bounded(found);
}

/** The columns of an output schema; null when it names none. */
function columnsIn({ properties = {} }: Schema): Readonly<Record<string, Schema>> | null {
  const { rows, row } = properties;
  return rows?.items?.properties ?? row?.anyOf?.find((one) => one.properties !== undefined)?.properties ?? null;
}

function bounded(sentences: readonly string[]): string[] {
  const more = sentences.length - MAX_SENTENCES;
  return more <= 0 ? [...sentences] : [...sentences.slice(0, MAX_SENTENCES), `And ${more} more.`];
}
