import type { BoundStatement, BoundType, Json } from './result.ts';
import { leafOffsets } from './parse.ts';
import type { SqlDialect } from './dialect.ts';
import type { SqlNode, Statement } from './statement.ts';

export type BoundValues = Readonly<Record<string, Json | undefined>>;

/** One text of a statement that the database must accept. All of its values are null. */
export interface Variant extends BoundStatement {
  /** The parameter of each placeholder. */
  readonly names: readonly string[];
  /** True when each use of a parameter has a separate placeholder. */
  readonly separate: boolean;
  /** The offset in the text of each leaf of the nodes, in order; -1 for leaves of a dropped block. */
  readonly pieces: readonly number[];
}

/** Which blocks are included and how many placeholders each expanded array has. The text depends on nothing else. */
interface Shape {
  readonly text: string;
  readonly types: readonly BoundType[];
  /** Absent: no types are declared. */
  readonly declared: readonly (string | null)[] | undefined;
  /** Name of the value of each placeholder, and which of its elements (-1: the whole value). */
  readonly names: readonly string[];
  readonly elements: readonly number[];
  /** The value of each placeholder when none was given. */
  readonly absent: readonly Json[];
  readonly pieces: readonly number[];
}

interface Plan {
  readonly blocks: readonly (readonly string[])[];
  /** Names of arrays that become one placeholder per element. */
  readonly arrays: readonly string[];
  readonly shapes: Map<string, Shape>;
  whole: Variant | null;
}

/** Maximum cached texts per statement; the oldest is removed first. */
const MAX_SHAPES = 64;
const MAX_VARIANTS = 20;
/** Up to this many blocks, every combination is generated for checks that must be complete. */
const MAX_EXHAUSTIVE = 8;
/** Maximum characters of all combinations together; checking more would take seconds. */
const MAX_EXHAUSTIVE_TEXT = 1_000_000;
/** Length of an array that is null: `IN (NULL)` is unknown for every row, as on PostgreSQL. */
const NULL_ARRAY = -1;

type ParameterNode = Extract<SqlNode, { name: string }>;

const plans = new WeakMap<Statement, Plan>();

/**
 * Binds values to a statement. A name that is `undefined` was not given: optional blocks that need it are dropped, and elsewhere
 * it is NULL. The text only depends on the included blocks and the lengths of arrays, never on a value.
 */
export function bind(statement: Statement, dialect: SqlDialect, values: BoundValues): BoundStatement {
  const plan = planOf(statement, dialect);
  const shape = shapeOf(statement, dialect, plan, values);
  const { names, elements, absent } = shape;
  const bound: Json[] = Array.from({ length: names.length });
  for (let i = 0; i < names.length; i++) {
    const value = valueOf(values, names[i]!) ?? absent[i]!;
    const element = elements[i]!;
    if (element < 0 || !Array.isArray(value)) bound[i] = value;
    else bound[i] = value[Math.min(element, value.length - 1)] ?? null;
  }
  return { text: shape.text, values: bound, types: shape.types, declared: shape.declared, dialect: statement.dialect };
}

/**
 * The texts to prepare when a statement is saved: with all blocks, with none, with each alone; at most 20 different ones. Arrays
 * have one element.
 */
export function variants(statement: Statement, dialect: SqlDialect): Variant[] {
  const { blocks } = planOf(statement, dialect);
  const choices = [() => true, () => false, ...blocks.map((_, chosen) => (index: number) => index === chosen)];
  return distinct(statement, dialect, choices).slice(0, MAX_VARIANTS);
}

/** The first of the `variants`, with all blocks. A statement always returns the same object. */
export function wholeVariant(statement: Statement, dialect: SqlDialect): Variant {
  const plan = planOf(statement, dialect);
  return (plan.whole ??= toVariant(statement, dialect, () => true));
}

/**
 * Every text that the blocks can produce, or only the `variants` when there are too many or they are too long (`complete` is
 * false).
 */
export function everyVariant(statement: Statement, dialect: SqlDialect): { variants: Variant[]; complete: boolean } {
  const { blocks } = planOf(statement, dialect);
  const size = leavesOf(statement.nodes).reduce((sum, node) => sum + (typeof node === 'string' ? node.length : 10), 0);
  if (blocks.length > MAX_EXHAUSTIVE || size * 2 ** blocks.length > MAX_EXHAUSTIVE_TEXT)
    return { variants: variants(statement, dialect), complete: false };
  // Counted down, so that the text with all blocks comes first.
  const choices = Array.from({ length: 2 ** blocks.length }, (_, i) => {
    const mask = 2 ** blocks.length - 1 - i;
    return (index: number) => (mask & (1 << index)) !== 0;
  });
  return { variants: distinct(statement, dialect, choices), complete: true };
}

/**
 * Converts an offset in a variant's text to one in the SQL query that was parsed, so that a database error points at what the
 * person wrote.
 */
export function sourceOffset(sql: string, statement: Statement, dialect: SqlDialect, variant: Variant, offset: number): number {
  let leaf = 0;
  for (const [i, start] of variant.pieces.entries()) if (start >= 0 && start <= offset) leaf = i;
  const from = leafOffsets(sql, statement, dialect)[leaf] ?? 0;
  const node = leavesOf(statement.nodes)[leaf];
  if (typeof node !== 'string') return from;
  return from + Math.min(Math.max(offset - (variant.pieces[leaf] ?? 0), 0), node.length);
}

/** Texts and parameters in order, including those in blocks. */
export function leavesOf(nodes: readonly SqlNode[]): Exclude<SqlNode, { block: unknown }>[] {
  return nodes.flatMap((node) => (typeof node === 'object' && 'block' in node ? leavesOf(node.block) : [node]));
}

function valueOf(values: BoundValues, name: string): Json | undefined {
  return Object.hasOwn(values, name) ? values[name] : undefined;
}

function planOf(statement: Statement, dialect: SqlDialect): Plan {
  const known = plans.get(statement);
  if (known) return known;
  const blocks = statement.nodes.flatMap((node) => (typeof node === 'object' && 'block' in node ? [node.names] : []));
  const arrays = leavesOf(statement.nodes).flatMap((node) => (typeof node === 'object' && node.in ? [node.name] : []));
  const plan: Plan = {
    blocks,
    arrays: dialect.no_row === null && dialect.list === undefined ? [] : [...new Set(arrays)],
    shapes: new Map(),
    whole: null,
  };
  plans.set(statement, plan);
  return plan;
}

function shapeOf(statement: Statement, dialect: SqlDialect, { blocks, arrays, shapes }: Plan, values: BoundValues): Shape {
  let key = '';
  for (const names of blocks) key += names.every((name) => valueOf(values, name) !== undefined) ? '1' : '0';
  for (const name of arrays) key += `,${paddedLength(valueOf(values, name))}`;
  const known = shapes.get(key);
  if (known) return known;
  const included = key.slice(0, blocks.length);
  const lengths = new Map(arrays.map((name) => [name, paddedLength(valueOf(values, name))]));
  const shape = compose(statement, dialect, (index) => included[index] === '1', lengths, false);
  const oldest = shapes.keys().next();
  if (shapes.size >= MAX_SHAPES && !oldest.done) shapes.delete(oldest.value);
  shapes.set(key, shape);
  return shape;
}

/** The next power of two, so that lists of similar length share a text; the last element is repeated. */
function paddedLength(value: Json | undefined): number {
  if (value === null || value === undefined) return NULL_ARRAY;
  if (!Array.isArray(value)) return 1;
  return value.length < 2 ? value.length : 2 ** Math.ceil(Math.log2(value.length));
}

function distinct(statement: Statement, dialect: SqlDialect, choices: readonly ((index: number) => boolean)[]): Variant[] {
  const found = new Map<string, Variant>();
  for (const keep of choices) {
    const variant = toVariant(statement, dialect, keep);
    if (!found.has(variant.text)) found.set(variant.text, variant);
  }
  return [...found.values()];
}

function toVariant(statement: Statement, dialect: SqlDialect, keep: (index: number) => boolean): Variant {
  const lengths = new Map(planOf(statement, dialect).arrays.map((name) => [name, 1]));
  const separate = dialect.describes_uses === true || !dialect.reuses;
  const { text, types, names, declared, pieces } = compose(statement, dialect, keep, lengths, separate);
  return { text, types, names, declared, values: names.map(() => null), separate, pieces };
}

function compose(
  statement: Statement,
  dialect: SqlDialect,
  keep: (index: number) => boolean,
  lengths: ReadonlyMap<string, number>,
  separate: boolean,
): Shape {
  const names: string[] = [];
  const elements: number[] = [];
  const absent: Json[] = [];
  const types: BoundType[] = [];
  const declared: (string | null)[] = [];
  const pieces: number[] = [];
  const numbers = new Map<string, number>();
  let text = '';
  let blocks = 0;

  const placeholder = ({ name, as, apart = 0, place }: ParameterNode, element: number, type: BoundType): string => {
    const bounds = dialect.unlimited === null ? undefined : place;
    const given = statement.given?.includes(name) === true;
    const key = `${element} ${bounds ?? ''} ${apart} ${as ?? ''} ${name}`;
    const known = numbers.get(key);
    if (known !== undefined && dialect.reuses && !separate) return dialect.placeholder(known, -1, type, bounds, given);
    names.push(name);
    elements.push(element);
    absent.push(bounds === undefined ? null : (dialect.unlimited?.[bounds] ?? null));
    types.push(type);
    declared.push(as ?? null);
    numbers.set(key, names.length);
    return dialect.placeholder(names.length, element, type, bounds, given);
  };

  const list = (node: ParameterNode, type: BoundType): string => {
    const length = lengths.get(node.name) ?? 1;
    const negated = node.in === 'not_in';
    if (dialect.list) {
      if (length === NULL_ARRAY) return '= NULL';
      return dialect.list(length === 0 ? null : placeholder(node, -1, type), negated);
    }
    if (dialect.no_row === null) return `${negated ? '<> ALL' : '= ANY'}(${placeholder(node, -1, type)})`;
    const item = typeof type === 'object' ? type.array : type;
    const operator = negated ? 'NOT IN' : 'IN';
    if (length === NULL_ARRAY) return `${operator} (NULL)`;
    if (length === 0) return `${operator} ${dialect.no_row}`;
    return `${operator} (${Array.from({ length }, (_, i) => placeholder(node, i, item)).join(', ')})`;
  };

  const add = (nodes: readonly SqlNode[], dropped: boolean): void => {
    for (const node of nodes) {
      if (typeof node === 'object' && 'block' in node) {
        const included = keep(blocks++);
        // A space on both sides, included or not, so that no tokens merge at the edge of a block.
        text += ' ';
        add(node.block, !included);
        text += ' ';
      } else if (dropped) {
        pieces.push(-1);
      } else if (typeof node === 'string') {
        pieces.push(text.length);
        text += node;
      } else {
        // "limit:n" must not become the name limit$1.
        if (/[\w$\u0080-\uffff]/.test(text.at(-1) ?? '')) text += ' ';
        pieces.push(text.length);
        const type = statement.types[node.name] ?? 'string';
        text += node.in ? list(node, type) : placeholder(node, -1, type);
      }
    }
  };

  add(statement.nodes, false);
  const is_declared = declared.some((as) => as !== null);
  return { text, names, elements, absent, types, declared: is_declared ? declared : undefined, pieces };
}
