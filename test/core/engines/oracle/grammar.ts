import type { ScalarType } from '#core/contract/definitions/parameters.ts';
import type { BoundType, Json } from '#core/lib/sql/result.ts';
import type { Random } from './random.ts';
import { STATEMENTS, TEMPLATES } from './templates.ts';
import { isAbsent, listOf, valueOf } from './values.ts';

/** A column of the table `sample`, which `target` has as well, and the declared type that fits it. */
export interface OracleColumn {
  readonly name: string;
  readonly type: BoundType;
  /** Values that its rows have. */
  readonly values?: readonly Json[];
}

export interface Grammar {
  readonly columns: readonly OracleColumn[];
  /** Texts beside the common ones, by their kind: see `templates.ts`. */
  readonly templates: Readonly<Partial<Record<Kind, readonly string[]>>>;
  /** Statements beside the common ones. */
  readonly statements?: readonly string[];
  /** The database answers rows of statements that write. */
  readonly writes: boolean;
}

/** `p` a predicate, `e` an expression, `a` an aggregate. */
export type Kind = 'p' | 'e' | 'a';

/** One place of a parameter in a statement. */
export interface Use {
  readonly name: string;
  /** What it is compared with, calculated with or written to. */
  readonly column: OracleColumn | null;
  readonly list: 'in' | 'not_in' | null;
}
type Piece = string | Use | { readonly block: readonly Piece[] };

export interface OracleCase {
  readonly pieces: readonly Piece[];
  readonly types: Readonly<Record<string, BoundType>>;
  /** Without what is left out. */
  readonly values: Readonly<Record<string, Json>>;
  readonly writes: boolean;
  /** All blocks are kept, whatever is left out. */
  readonly whole?: boolean;
}

/** The statement as the author of a tool writes it. */
export const toSql = ({ pieces }: OracleCase): string => textOf(pieces, ({ name, list }) => productText(name, list), 'blocks');

const productText = (name: string, list: Use['list']): string =>
  list === null ? `:${name}` : `${list === 'in' ? 'in' : 'not in'} (:${name})`;

/** Its uses in order; those of blocks that are left out are not among them. */
export function usesOf(one: OracleCase): Use[] {
  const uses: Use[] = [];
  toReference(one, (use) => (uses.push(use), ''));
  return uses;
}

/** The statement with a text in the place of each use. */
export const toReference = (
  { pieces, values, whole = false }: OracleCase,
  write: (use: Use, index: number) => string,
): string => {
  let index = 0;
  return textOf(pieces, (use) => write(use, index++), whole ? 'whole' : values);
};

function textOf(
  pieces: readonly Piece[],
  write: (use: Use) => string,
  kept: 'blocks' | 'whole' | Readonly<Record<string, Json>>,
): string {
  return pieces
    .map((piece) => {
      if (typeof piece === 'string') return piece;
      if (!('block' in piece)) return write(piece);
      if (kept === 'whole') return textOf(piece.block, write, kept);
      if (kept === 'blocks') return `[[${textOf(piece.block, write, kept)}]]`;
      return namesOf(piece.block).every((name) => Object.hasOwn(kept, name)) ? textOf(piece.block, write, kept) : '';
    })
    .join('');
}

const namesOf = (pieces: readonly Piece[]): string[] =>
  pieces.flatMap((piece) => (typeof piece === 'string' ? [] : 'block' in piece ? namesOf(piece.block) : [piece.name]));

const SCALARS: readonly ScalarType[] = ['string', 'integer', 'number', 'boolean', 'date', 'datetime', 'uuid', 'json'];
/** How often a parameter is declared as another type than that of its column. */
const STRANGE = 0.12;
const TOKEN = /%([pea])\b|\$(\w+)(?::([\w|]+))?|\{(in |not in )?(\w+)(!?)\}|\[\[|\]\]/g;

/** The next statement of the grammar, by chance alone. */
export function makeCase(grammar: Grammar, random: Random): OracleCase {
  const types: Record<string, BoundType> = {};
  const values: Record<string, Json> = {};
  const statements = [...STATEMENTS, ...(grammar.statements ?? [])].filter((text) => grammar.writes || !isWriting(text));
  const templates = (kind: Kind): readonly string[] => [...TEMPLATES[kind], ...(grammar.templates[kind] ?? [])];
  let count = 0;

  function declare(type: BoundType, column: OracleColumn | null, small: boolean): string {
    const name = `p${++count}`;
    types[name] = type;
    const value = typeof type === 'object' ? listOf(type.array, column, random) : valueOf(type, column, small, random);
    if (!isAbsent(value)) values[name] = value;
    return name;
  }

  /** Declares a parameter for a word of a template. */
  function parameter(word: string, column: OracleColumn | undefined): string {
    if (word === 'small') return declare('integer', null, true);
    if (column === undefined) return declare(word === 'any' ? random.pick(SCALARS) : (word as ScalarType), null, false);
    return declare(random.chance(STRANGE) ? random.pick(SCALARS) : column.type, column, false);
  }

  function expand(template: string): Piece[] {
    const columns = columnsOf(template, grammar, random);
    const columnOf = (word: string) => columns.get(word) ?? grammar.columns.find(({ name }) => name === word);
    const again = new Map<string, string>();
    const stack: Piece[][] = [[]];
    const add = (piece: Piece): void => void stack.at(-1)?.push(piece);
    let last = 0;
    for (const found of template.matchAll(TOKEN)) {
      add(template.slice(last, found.index));
      last = found.index + found[0].length;
      const [token, kind, slot, , list, word = '', same] = found;
      if (token === '[[') stack.push([]);
      else if (token === ']]') {
        const block = stack.pop() ?? [];
        add(namesOf(block).length === 0 ? block.map((piece) => (typeof piece === 'string' ? piece : '')).join('') : { block });
      } else if (kind !== undefined) for (const piece of expand(random.pick(templates(kind as Kind)))) add(piece);
      else if (slot !== undefined) add(columns.get(slot)?.name ?? slot);
      else if (list !== undefined) {
        const column = columnOf(word);
        const type = typeof column?.type === 'string' ? column.type : 'integer';
        add({
          name: declare({ array: type }, column ?? null, false),
          column: column ?? null,
          list: list === 'in ' ? 'in' : 'not_in',
        });
      } else {
        const name = (same === '!' ? again.get(word) : undefined) ?? parameter(word, columnOf(word));
        if (same === '!') again.set(word, name);
        add({ name, column: columnOf(word) ?? null, list: null });
      }
    }
    add(template.slice(last));
    return stack[0] ?? [];
  }

  const statement = random.pick(statements);
  return { pieces: expand(statement), types, values, writes: isWriting(statement) };
}

const isWriting = (text: string): boolean => /^(?:insert|update|delete|merge|with gone)/.test(text);

/** A column for each slot of a template, none of them twice. */
function columnsOf(template: string, { columns }: Grammar, random: Random): ReadonlyMap<string, OracleColumn> {
  const chosen = new Map<string, OracleColumn>();
  for (const [, , slot, kinds] of template.matchAll(TOKEN)) {
    if (slot === undefined || chosen.has(slot)) continue;
    const fitting = columns.filter(
      (column) => ![...chosen.values()].includes(column) && (kinds === undefined || kinds.split('|').includes(kindOf(column))),
    );
    chosen.set(slot, random.pick(fitting));
  }
  return chosen;
}

const kindOf = ({ type }: OracleColumn): string => (typeof type === 'string' ? type : 'array');
