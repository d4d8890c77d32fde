import { type Completion, type CompletionContext, type CompletionResult, type CompletionSource } from '@codemirror/autocomplete';
import { keywordCompletionSource, MySQL, PostgreSQL, SQLDialect, SQLite, StandardSQL } from '@codemirror/lang-sql';
import { LanguageSupport } from '@codemirror/language';
import { type Extension, RangeSetBuilder } from '@codemirror/state';
import { Decoration, type DecorationSet, EditorView, ViewPlugin, type ViewUpdate } from '@codemirror/view';
import { mentions } from '#core/lib/sql/mentions.ts';
import {
  type Catalog,
  type CompletionPoint,
  completionPointAt,
  qualifiedName,
  quoteName,
} from '#ui/src/features/builder/sql/completion.ts';
import { type Dialect, optionalBlocks, scanSql, type SqlPiece } from '#ui/src/features/builder/sql/scan.ts';

/** What a statement can speak of. */
export interface SqlContext {
  readonly catalog: () => Catalog | undefined;
  /** Names that the list of parameters holds. */
  readonly parameters: () => readonly string[];
}

/** What PostgreSQL reserves for nothing and tables call their columns. */
const NAMES = new Set(
  'id name key value type state path level label position role sequence year month day count data comment location length number user owner version'.split(
    ' ',
  ),
);
const words = (PostgreSQL.spec.keywords ?? '').split(' ').filter((word) => !NAMES.has(word));
const postgresql = SQLDialect.define({ ...PostgreSQL.spec, keywords: words.join(' ') });

const DIALECTS: Readonly<Record<Dialect, SQLDialect>> = {
  postgresql,
  duckdb: postgresql,
  mysql: MySQL,
  sqlite: SQLite,
  clickhouse: StandardSQL,
};

export function sqlLanguage(dialect: Dialect, context: SqlContext): Extension {
  const grammar = DIALECTS[dialect];
  const data = grammar.language.data;
  return [
    new LanguageSupport(grammar.language, [
      data.of({ autocomplete: schemaSource(dialect, context) }),
      data.of({ autocomplete: outsideText(dialect, keywordCompletionSource(grammar, false)) }),
    ]),
    marks(dialect),
  ];
}

const parameter = Decoration.mark({ class: 'cm-parameter' });
const block = Decoration.mark({ class: 'cm-block' });
const block_mark = Decoration.mark({ class: 'cm-block-mark' });

/** Parameters and optional blocks, which no grammar of SQL knows. */
function marks(dialect: Dialect): Extension {
  const build = ({ state }: EditorView): DecorationSet => {
    const sql = state.doc.toString();
    const pieces = scanSql(sql, dialect);
    const ranges = [
      ...pieces.filter(({ kind }) => kind === 'parameter').map(({ start, end }) => ({ start, end, mark: parameter })),
      ...optionalBlocks(sql, pieces).flatMap(({ start, end }) => [
        { start, end, mark: block },
        { start, end: start + 2, mark: block_mark },
        { start: end - 2, end, mark: block_mark },
      ]),
    ].sort((a, b) => a.start - b.start || b.end - a.end);
    const builder = new RangeSetBuilder<Decoration>();
    for (const { start, end, mark } of ranges) builder.add(start, end, mark);
    return builder.finish();
  };
  return ViewPlugin.fromClass(
    class {
      decorations: DecorationSet;
      constructor(view: EditorView) {
        this.decorations = build(view);
      }
      update(update: ViewUpdate) {
        if (update.docChanged) this.decorations = build(update.view);
      }
    },
    { decorations: (plugin) => plugin.decorations },
  );
}

/** Keywords stand neither behind a dot nor in strings, comments and parameters. */
const outsideText =
  (dialect: Dialect, source: CompletionSource): CompletionSource =>
  (completion) => {
    const sql = completion.state.doc.toString();
    const point = completionPointAt(sql, scanSql(sql, dialect), completion.pos);
    return point?.kind === 'any' || point?.kind === 'table' ? source(completion) : null;
  };

function schemaSource(dialect: Dialect, context: SqlContext): CompletionSource {
  return async (completion: CompletionContext): Promise<CompletionResult | null> => {
    const sql = completion.state.doc.toString();
    const pieces = scanSql(sql, dialect);
    const point = completionPointAt(sql, pieces, completion.pos);
    if (point === undefined) return null;
    if (point.kind === 'any' && point.from === completion.pos && !completion.explicit) return null;
    const options = await candidates(sql, pieces, point, dialect, context);
    if (completion.aborted || options.length === 0) return null;
    return { from: point.from, options, validFor: /^[\w$\u0080-\uffff]*$/ };
  };
}

async function candidates(
  sql: string,
  pieces: readonly SqlPiece[],
  point: CompletionPoint,
  dialect: Dialect,
  { catalog, parameters }: SqlContext,
): Promise<Completion[]> {
  if (point.kind === 'parameter') return parameters().map((name) => ({ label: name, type: 'variable', detail: 'parameter' }));
  const known = catalog();
  if (known === undefined) return [];
  const tables = await known.tables();
  const named = mentions(sql, pieces);
  const columnsOf = async ({ schema, table, alias }: (typeof named)[number], boost: number): Promise<Completion[]> => {
    const found = tables.find((one) => same(one.name, table) && (schema === null || same(one.schema ?? '', schema)));
    if (found === undefined) return [];
    const columns = await known.columns(found);
    return columns.map(({ name, type, comment }) => ({
      label: name,
      apply: quoteName(name, dialect),
      type: 'property',
      detail: named.length > 1 ? `${type} · ${alias}` : type,
      boost,
      ...(comment === null ? {} : { info: comment }),
    }));
  };
  const tableOptions = (boost: number, within?: string): Completion[] =>
    tables
      .filter(({ schema }) => within === undefined || same(schema ?? '', within))
      .map(({ schema, name, in_path, type, comment }) => ({
        label: name,
        apply: qualifiedName({ schema, name, in_path: in_path || within !== undefined }, dialect),
        type: 'class',
        detail: schema === null || in_path ? type : `${type} · ${schema}`,
        boost,
        ...(comment === null ? {} : { info: comment }),
      }));
  if (point.kind === 'table') return tableOptions(20);
  if (point.kind === 'member') {
    const target = named.find(({ alias, table }) => same(alias, point.of) || same(table, point.of));
    return target === undefined ? tableOptions(10, point.of) : columnsOf(target, 20);
  }
  const columns = (await Promise.all(named.map((mention) => columnsOf(mention, 10)))).flat();
  return [...columns, ...tableOptions(0)];
}

const same = (one: string, other: string): boolean => one.toLowerCase() === other.toLowerCase();
