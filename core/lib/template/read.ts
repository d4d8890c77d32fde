import { AppError } from '#core/errors.ts';
import {
  type ArithmeticOperator,
  type Expression,
  type Statement,
  type Target,
  TEMPLATE_FORMAT,
  type TemplateAst,
} from './ast.ts';
import { FILTERS, METHODS } from './filters/filters.ts';
import { FUNCTIONS } from './functions.ts';
import { arranged, type Operations } from './operation.ts';
import { COMPARE, CONSTANTS, INNER, LEVELS } from './operators.ts';
import { lineOf, nodes, optional, readSource, type SourceNode, spine, templateError } from './source.ts';
import { TESTS } from './tests.ts';
import { isDenied } from './values.ts';

const MAX_SOURCE = 100_000;
const MAX_DEPTH = 60;
const NAME = /^[A-Za-z_]\w{0,63}$/;

/** Parses a template into plain data. Throws `invalid` with line, column and position for syntax that is not supported. */
export function readAst(text: string): TemplateAst {
  if (text.length > MAX_SOURCE) throw new AppError('invalid', 'A template has at most 100 000 characters.');
  try {
    return { format: TEMPLATE_FORMAT, body: statements(readSource(text), 0) };
  } catch (error) {
    if (error instanceof Refused) throw templateError(text, error.at.lineno + 1, error.at.colno + 1, error.message);
    throw error;
  }
}

/** A node that is outside the language. */
class Refused extends Error {
  readonly at: SourceNode;

  constructor(at: SourceNode, sentence: string) {
    super(sentence);
    this.at = at;
  }
}

function refuse(at: SourceNode, sentence: string): never {
  throw new Refused(at, sentence);
}

function name(at: SourceNode, value: unknown, what: string): string {
  if (typeof value === 'string' && NAME.test(value) && !isDenied(value)) return value;
  return refuse(at, `This is not a name that ${what} may have: letters, digits and "_", at most 64`);
}

function statements(list: unknown, depth: number): Statement[] {
  const { children } = list as { children: SourceNode[] };
  return children.flatMap((child) => statement(child, depth + 1));
}

function statement(at: SourceNode, depth: number): Statement[] {
  if (depth > MAX_DEPTH) return refuse(at, 'The template is nested too deeply');
  const read = Object.hasOwn(STATEMENTS, at.typename) ? STATEMENTS[at.typename] : undefined;
  return read?.(at, depth) ?? refuse(at, 'This tag is not available in templates');
}

/** Translates tags; those that are not in the table are refused. */
const STATEMENTS: Readonly<Record<string, (at: SourceNode, depth: number) => Statement[]>> = {
  Output: (at, depth) =>
    nodes(at['children']).map((child) =>
      child.typename === 'TemplateData'
        ? { type: 'text', text: String(child['value']) }
        : { type: 'output', value: expression(child, depth), line: lineOf(child) },
    ),
  If(at, depth) {
    const branches = [];
    let rest: SourceNode | null = at;
    for (; rest?.typename === 'If'; rest = optional(rest['else_'])) {
      branches.push({ test: expression(rest['cond'], depth), body: statements(rest['body'], depth) });
    }
    return [{ type: 'if', branches, otherwise: rest === null ? [] : statements(rest, depth) }];
  },
  For(at, depth) {
    const target = at['name'] as SourceNode;
    const names = target.typename === 'Array' ? nodes(target['children']) : [target];
    const list = at['arr'] as SourceNode;
    // `for row in rows if row.active` is parsed as an inline if without else.
    const filtered = list.typename === 'InlineIf' && list['else_'] === null;
    return [
      {
        type: 'for',
        names: names.map((one) => symbol(one, 'a variable')),
        list: expression(filtered ? list['body'] : list, depth),
        where: filtered ? expression(list['cond'], depth) : null,
        body: statements(at['body'], depth),
        otherwise: at['else_'] ? statements(at['else_'], depth) : [],
        line: lineOf(at),
      },
    ];
  },
  Set(at, depth) {
    const value = at['value'] ?? at['body'];
    return [{ type: 'set', targets: nodes(at['targets']).map(target), value: expression(value, depth), line: lineOf(at) }];
  },
};

function symbol(at: SourceNode, what: string): string {
  return name(at, at.typename === 'Symbol' ? at['value'] : null, what);
}

function target(at: SourceNode): Target {
  if (at.typename !== 'LookupVal') return { name: symbol(at, 'a variable') };
  const [namespace, key] = [at['target'] as SourceNode, at['val'] as SourceNode];
  return {
    namespace: symbol(namespace, 'a namespace'),
    key: name(key, key.typename === 'Literal' ? key['value'] : null, 'an attribute'),
  };
}

function expression(source: unknown, depth: number): Expression {
  const at = source as SourceNode;
  if (depth > MAX_DEPTH) return refuse(at, 'The template is nested too deeply');
  const level = LEVELS.find((operators) => Object.hasOwn(operators, at.typename));
  if (level !== undefined) return chain(at, level, depth + 1);
  const read = Object.hasOwn(EXPRESSIONS, at.typename) ? EXPRESSIONS[at.typename] : undefined;
  return read?.(at, depth + 1) ?? refuse(at, 'This expression is not available in templates');
}

const expressions = (list: unknown, depth: number): Expression[] => nodes(list).map((item) => expression(item, depth));

/** Translates expressions; those that are not in the table are refused. */
const EXPRESSIONS: Readonly<Record<string, (at: SourceNode, depth: number) => Expression>> = {
  Literal: (at) => literal(at),
  Symbol: (at) => {
    const constant = CONSTANTS.get(at['value']);
    return constant === undefined
      ? { type: 'name', name: name(at, at['value'], 'a variable') }
      : { type: 'literal', value: constant };
  },
  Group: (at, depth) => {
    const items = expressions(at['children'], depth);
    return items.length === 1 && items[0] ? items[0] : { type: 'list', items };
  },
  Array: (at, depth) => ({ type: 'list', items: expressions(at['children'], depth) }),
  Dict: (at, depth) => ({ type: 'dict', entries: nodes(at['children']).map((pair) => entry(pair, depth)), line: lineOf(at) }),
  LookupVal(at, depth) {
    const key = optional(at['val']);
    if (key === null) return refuse(at, 'An index is expected in the brackets');
    const from = expression(at['target'], depth);
    if (key.typename === 'Slice') {
      const bounds = nodes(key['bounds']).map((bound) => (bound === null ? null : expression(bound, depth)));
      return { type: 'slice', target: from, bounds, line: lineOf(at) };
    }
    if (key.typename === 'Literal' && isDenied(key['value'])) return refuse(key, 'This name cannot be read in templates');
    return { type: 'get', target: from, key: expression(key, depth) };
  },
  InlineIf: (at, depth) => ({
    type: 'choice',
    test: expression(at['cond'], depth),
    yes: expression(at['body'], depth),
    no: at['else_'] === null ? null : expression(at['else_'], depth),
  }),
  Or: (at, depth) => ({ type: 'or', items: spine(at, 'Or').map((item) => expression(item, depth)) }),
  And: (at, depth) => ({ type: 'and', items: spine(at, 'And').map((item) => expression(item, depth)) }),
  Not: (at, depth) => ({ type: 'not', value: expression(at['target'], depth) }),
  Neg: (at, depth) => ({ type: 'sign', negative: true, value: expression(at['target'], depth), line: lineOf(at) }),
  Pos: (at, depth) => ({ type: 'sign', negative: false, value: expression(at['target'], depth), line: lineOf(at) }),
  In: (at, depth) => ({
    type: 'in',
    item: expression(at['left'], depth),
    list: expression(at['right'], depth),
    line: lineOf(at),
  }),
  Compare: (at, depth) => ({
    type: 'compare',
    first: expression(at['expr'], depth),
    rest: nodes(at['ops']).map((one) => ({
      op: COMPARE[String(one['type'])] ?? refuse(one, 'This comparison is not available in templates'),
      value: expression(one['expr'], depth),
    })),
    line: lineOf(at),
  }),
  Is: (at, depth) => operation('test', TESTS, at, at['name'], at['left'], at['args'], depth),
  Filter(at, depth) {
    const [value, ...args] = nodes((at['args'] as SourceNode)['children']);
    return operation('filter', FILTERS, at, (at['name'] as SourceNode)['value'], value, args, depth);
  },
  FunCall: (at, depth) => call(at, depth),
  Capture: (at, depth) => ({ type: 'capture', body: statements(at['body'], depth) }),
};

function literal(at: SourceNode): Expression {
  const value = at['value'];
  if (typeof value === 'number' && (!Number.isFinite(value) || (Number.isInteger(value) && !Number.isSafeInteger(value)))) {
    return refuse(at, 'This number is too large to be exact; write it as a text');
  }
  if (value === null || typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') {
    return { type: 'literal', value };
  }
  return refuse(at, 'Regular expressions are not available in templates');
}

function entry(pair: SourceNode, depth: number): readonly [Expression, Expression] {
  const key = pair['key'] as SourceNode;
  if (isDenied(key['value'])) return refuse(key, 'This name cannot be a key in templates');
  const read: Expression = key.typename === 'Symbol' ? { type: 'literal', value: symbol(key, 'a key') } : expression(key, depth);
  return [read, expression(pair['value'], depth)];
}

/**
 * Operators of one precedence in the order of the text. The left side may have thousands of levels, so it is not visited
 * recursively.
 */
function chain(at: SourceNode, level: Readonly<Record<string, ArithmeticOperator>>, depth: number): Expression {
  const flat: { op: ArithmeticOperator | null; at: SourceNode }[] = [];
  const collect = (from: SourceNode, op: ArithmeticOperator | null) => {
    const rights: SourceNode[] = [];
    let left = from;
    for (; level[left.typename] !== undefined; left = left['left'] as SourceNode) rights.push(left);
    flat.push({ op, at: left });
    for (const one of rights.toReversed()) collect(one['right'] as SourceNode, level[one.typename] ?? null);
  };
  collect(at, null);
  const [first, ...rest] = flat.map(({ op, at }) => ({ op, value: expression(at, depth) }));
  return {
    type: 'chain',
    first: first?.value ?? { type: 'literal', value: null },
    rest: rest.map(({ op, value }) => ({ op: op ?? '+', value })),
    line: lineOf(at),
  };
}

function operation(
  type: 'filter' | 'test' | 'method',
  table: Operations,
  at: SourceNode,
  given: unknown,
  value: unknown,
  list: unknown,
  depth: number,
): Expression {
  const known = typeof given === 'string' ? table.get(given) : undefined;
  if (known === undefined || typeof given !== 'string' || !NAME.test(given)) {
    const shown = typeof given === 'string' && NAME.test(given) ? ` "${given}"` : '';
    return refuse(at, `There is no ${type}${shown} in templates`);
  }
  const { places, named } = argumentsOf(list, depth);
  const args = orRefuse(at, given, () => arranged<Expression>(known, places)).map((arg) => arg ?? null);
  const by_name = [...known.params, ...(known.named ?? [])];
  for (const [key, expression] of named) {
    const index = by_name.indexOf(key);
    if (index < 0) return refuse(at, `The ${type} "${given}" has no argument "${key}"`);
    args[index] = expression;
  }
  const inner = INNER[given];
  const chosen = inner && args[inner.index];
  if (chosen?.type === 'literal' && typeof chosen.value === 'string' && !inner?.table.has(chosen.value)) {
    return refuse(at, `"${given}" was given the name of a ${inner?.kind} that does not exist`);
  }
  return { type, name: given, value: expression(value, depth), args, line: lineOf(at) };
}

function orRefuse<Result>(at: SourceNode, given: string, attempt: () => Result): Result {
  try {
    return attempt();
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return refuse(at, `"${given}": ${error.detail.replace(/\.$/, '')}`);
  }
}

function argumentsOf(list: unknown, depth: number): { places: Expression[]; named: [string, Expression][] } {
  const places: Expression[] = [];
  const named: [string, Expression][] = [];
  for (const arg of nodes(list)) {
    if (arg.typename !== 'KeywordArgs') places.push(expression(arg, depth));
    else
      for (const pair of nodes(arg['children']))
        named.push([symbol(pair['key'] as SourceNode, 'an argument'), expression(pair['value'], depth)]);
  }
  return { places, named };
}

/** Only the listed functions and methods can be called. */
function call(at: SourceNode, depth: number): Expression {
  const callee = at['name'] as SourceNode;
  const list = (at['args'] as SourceNode)['children'];
  if (callee.typename === 'LookupVal') {
    return operation('method', METHODS, at, optional(callee['val'])?.['value'], callee['target'], list, depth);
  }
  const given = callee.typename === 'Symbol' ? callee['value'] : null;
  const known = typeof given === 'string' ? FUNCTIONS.get(given) : undefined;
  if (known === undefined || typeof given !== 'string')
    return refuse(at, 'Only the documented functions can be called in templates');
  const { places, named } = argumentsOf(list, depth);
  const [minimum, maximum] = known.places;
  if (places.length < minimum || places.length > maximum || (named.length > 0 && !known.named)) {
    return refuse(at, `"${given}" was not given the arguments that it takes`);
  }
  return { type: 'call', name: given, args: places, named, line: lineOf(at) };
}
