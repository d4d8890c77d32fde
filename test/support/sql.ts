import { dialectNamed } from '#core/engines/index.ts';
import type { BoundStatement } from '#core/lib/sql/result.ts';
import * as binding from '#core/lib/sql/bind.ts';
import * as classifying from '#core/lib/sql/classify.ts';
import * as parsing from '#core/lib/sql/parse.ts';
import type { Classification, Statement } from '#core/lib/sql/statement.ts';
import * as scanning from '#core/lib/sql/tokenize.ts';

/** The engine's functions for statements, with a grammar by its name. */
export type Dialect = 'postgresql' | 'duckdb' | 'mysql' | 'sqlite' | 'clickhouse';

const of = (statement: Statement) => dialectNamed(statement.dialect);

export const tokenize = (sql: string, dialect: Dialect): scanning.Token[] => scanning.tokenize(sql, dialectNamed(dialect));
export const parseSql = (sql: string, dialect: string, parameters: readonly parsing.DeclaredParameter[]): Statement =>
  parsing.parseSql(sql, dialectNamed(dialect), parameters);
export const parameterNames = (sql: string, dialect: Dialect): string[] => parsing.parameterNames(sql, dialectNamed(dialect));
export const classify = (statement: Statement): Promise<Classification> => classifying.classify(statement, of(statement));
export const bind = (statement: Statement, values: binding.BoundValues): BoundStatement =>
  binding.bind(statement, of(statement), values);
export const variants = (statement: Statement): binding.Variant[] => binding.variants(statement, of(statement));
export const everyVariant = (statement: Statement) => binding.everyVariant(statement, of(statement));
export const sourceOffset = (sql: string, statement: Statement, variant: binding.Variant, offset: number): number =>
  binding.sourceOffset(sql, statement, of(statement), variant, offset);
