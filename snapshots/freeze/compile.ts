import { createHash } from 'node:crypto';
import type { DbType } from '#core/contract/definitions/connections.ts';
import type { Mask } from '#core/contract/definitions/masks.ts';
import type { Parameter } from '#core/contract/definitions/parameters.ts';
import type { ReturnType } from '#core/contract/definitions/tools.ts';
import { checkParameters, inputSchema, isSent } from '#core/query/arguments.ts';
import { schemaColumns, type TracedColumn } from '#core/query/masks.ts';
import { outputSchema } from '#core/query/shape.ts';
import { classify } from '#core/lib/sql/classify.ts';
import type { SqlDialect } from '#core/lib/sql/dialect.ts';
import { limitNames, parseSql, unusedParameters } from '#core/lib/sql/parse.ts';
import { type Reads, readsIn, withReads } from '#core/lib/sql/reads.ts';
import type { Classification, Statement } from '#core/lib/sql/statement.ts';
import { parseTemplate } from '#core/lib/template/parse.ts';
import { AppError, invalidField } from '#core/errors.ts';
import { engineOf } from '#core/engines/index.ts';
import type { Description } from '#core/engines/shared/source.ts';
import { canonical } from '#snapshots/format/canonical.ts';

/** Increment it if a definition would compile to a different result, so that all stored artifacts are compiled again. */
export const COMPILER = 6;

/** The input of the compiler: a compiled statement depends on nothing else. */
export interface QueryDefinition {
  readonly sql_query: string;
  readonly parameters: readonly Parameter[];
  readonly return_type: ReturnType;
  readonly transform_template: string | null;
  /** Absent: none. */
  readonly masks?: readonly Mask[];
}

/** The artifact compiled from one definition. It is stored beside its entity, and freezing uses it unchanged. */
export interface Compiled {
  readonly key: string;
  readonly statement: Statement;
  readonly classification: Classification;
  /** The columns that the database described; null if it was unreachable. */
  readonly columns: readonly TracedColumn[] | null;
  readonly input_schema: Readonly<Record<string, unknown>>;
  readonly output_schema: Readonly<Record<string, unknown>> | null;
  readonly warnings: readonly string[];
}

/** Hash over the compiler version and its whole input, except the description. */
export function compiledKey(definition: QueryDefinition, db_type: DbType, compiler = COMPILER): string {
  const { sql_query, parameters, return_type, transform_template, masks = [] } = definition;
  const masked = masks.length === 0 ? [] : [masks];
  const text = canonical([compiler, db_type, sql_query, parameters, return_type, transform_template, ...masked]);
  return createHash('sha256').update(text).digest('base64url');
}

/**
 * Parses and classifies a statement and derives its schemas, without a database. Throws `invalid` with all faults of the
 * definition, each at its field. @param dialect the grammar, which settings of the database server can change.
 */
export async function compileQuery(
  definition: QueryDefinition,
  db_type: DbType,
  dialect: SqlDialect = engineOf(db_type).dialect,
): Promise<Compiled> {
  const faults = checkParameters(definition.parameters);
  if (faults.length > 0) throw new AppError('invalid', faults.map((fault) => fault.message).join(' '), { errors: faults });
  checkTemplate(definition.transform_template);
  const statement = parseSql(definition.sql_query, dialect, definition.parameters);
  refuseLimits(statement, dialect);
  const unused = unusedParameters(statement, definition.parameters);
  return describeCompiled(
    {
      key: compiledKey(definition, db_type),
      statement,
      classification: await classify(statement, dialect),
      columns: null,
      input_schema: inputSchema(definition.parameters),
      output_schema: null,
      warnings: [
        ...unused.map((name) => `The parameter ${name} is declared but not used in the statement.`),
        ...leftOutWithoutValue(statement, definition.parameters),
      ],
    },
    definition,
    null,
  );
}

/** Some databases round other numbers there, or parse as much as they can of a string. */
function refuseLimits({ nodes, types }: Statement, { unlimited }: SqlDialect): void {
  if (unlimited === null) return;
  const name = limitNames(nodes).find((one) => types[one] !== 'integer');
  if (name === undefined) return;
  throw invalidField('sql_query', `LIMIT and OFFSET take whole numbers: declare ${name} with the type integer.`);
}

/** If a block limits rows to the caller, dropping it shows all rows to callers without the value. */
function leftOutWithoutValue({ nodes }: Statement, parameters: readonly Parameter[]): string[] {
  const in_blocks = new Set(nodes.flatMap((node) => (typeof node === 'object' && 'block' in node ? node.names : [])));
  return parameters
    .filter((parameter) => !isSent(parameter) && in_blocks.has(parameter.name))
    .map(({ name, from }) => `Callers without ${from} run the statement without the optional block of ${name}.`);
}

function checkTemplate(template: string | null): void {
  if (template === null) return;
  try {
    parseTemplate(template);
  } catch (error) {
    throw error instanceof AppError ? invalidField('transform_template', error.detail) : error;
  }
}

/** The database's description of a statement, with and without its optional blocks. */
export interface DescribedStatement extends Pick<Description, 'columns'> {
  readonly reads: Reads;
}

/** Adds the database's description of columns and parameters to an artifact. */
export function describeCompiled(
  compiled: Compiled,
  definition: QueryDefinition,
  description: DescribedStatement | null,
): Compiled {
  const traced = new Map((compiled.columns ?? []).map(({ name, origin }) => [name, origin]));
  const columns = (description?.columns ?? null)?.map((column: TracedColumn) => {
    const origin = column.origin ?? traced.get(column.name);
    return origin === undefined ? column : { ...column, origin };
  });
  return {
    ...compiled,
    columns: columns ?? null,
    statement: withReads(compiled.statement, description?.reads),
    output_schema: outputSchema(
      definition.return_type,
      schemaColumns(columns ?? null, definition.masks ?? []),
      definition.transform_template !== null,
    ),
  };
}

/**
 * Returns the stored artifact, or a new one if the definition, the kind of database or the compiler has changed. If only the
 * compiler has changed, the stored description is reused, because the database may be unreachable.
 */
export async function currentArtifact(
  stored: Compiled | undefined,
  definition: QueryDefinition,
  db_type: DbType,
): Promise<Compiled> {
  if (stored !== undefined && stored.key === compiledKey(definition, db_type)) return stored;
  const { dialects } = engineOf(db_type);
  const dialect = dialects?.find(({ name }) => name === stored?.statement.dialect);
  const compiled = await compileQuery(definition, db_type, dialect);
  if (stored === undefined || stored.columns === null || !isOlder(stored, definition, db_type)) return compiled;
  return describeCompiled(compiled, definition, { columns: stored.columns, reads: readsIn(stored.statement) });
}

function isOlder({ key }: Compiled, definition: QueryDefinition, db_type: DbType): boolean {
  for (let compiler = 1; compiler < COMPILER; compiler++) if (key === compiledKey(definition, db_type, compiler)) return true;
  return false;
}
