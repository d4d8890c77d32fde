import { type ESTree, parseSync, Visitor } from 'vite';

/** A small change of a program, such as a person could make by mistake. */
export interface Mutant {
  readonly operator: Operator;
  /** From 1. */
  readonly line: number;
  readonly edit: Edit;
  /** What runs when the changed code runs. */
  readonly site: Site;
}

export interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

interface Site {
  readonly start: number;
  readonly end: number;
  readonly kind: 'expression' | 'statement' | 'body' | 'module';
}

/** The kinds of changes, with what each does. */
export const OPERATORS = {
  compare: 'another comparison',
  logic: '`&&` for `||`, or the reverse',
  arithmetic: '`+` for `-`, `*` for `/`, or the reverse',
  negate: 'the opposite of a condition',
  guard: 'without a guard',
  drop: 'without a statement',
  await: 'does not wait',
  early: 'returns at once',
  constant: 'a number that is one higher',
  flag: '`true` for `false`, or the reverse',
  element: 'a list or record without one of its members',
  method: 'a method for its counterpart',
} as const;
export type Operator = keyof typeof OPERATORS;

const SWAPPED: Readonly<Record<string, readonly [Operator, string]>> = {
  '<': ['compare', '<='],
  '<=': ['compare', '<'],
  '>': ['compare', '>='],
  '>=': ['compare', '>'],
  '===': ['compare', '!=='],
  '!==': ['compare', '==='],
  '&&': ['logic', '||'],
  '||': ['logic', '&&'],
  '+': ['arithmetic', '-'],
  '-': ['arithmetic', '+'],
  '*': ['arithmetic', '/'],
  '/': ['arithmetic', '*'],
};

const COUNTERPARTS = [
  ['some', 'every'],
  ['startsWith', 'endsWith'],
  ['min', 'max'],
  ['floor', 'ceil'],
  ['indexOf', 'lastIndexOf'],
] as const;
const COUNTERPART = new Map<string, string>(COUNTERPARTS.flatMap(([a, b]) => [[a, b] as const, [b, a] as const]));

/** One more of a larger number, such as a time limit, is within what its users expect. */
const LARGEST_CONSTANT = 999;
/** Lines of a log are for people. */
const LOGS = /^(await |void )?([\w$?.]+\.)?log\b/;

/** Every mutant of a program in TypeScript; types and texts stay as they are. */
export function mutantsOf(text: string): Mutant[] {
  const found: Mutant[] = [];
  const lines = lineStarts(text);
  const add = (operator: Operator, edit: Edit, node: ESTree.Span, kind: Site['kind'] = 'expression') => {
    const line = lines.findLastIndex((start) => start <= edit.start) + 1;
    found.push({ operator, line, edit, site: { start: node.start, end: node.end, kind } });
  };
  const replace = ({ start, end }: ESTree.Span, by: string): Edit => ({ start, end, text: by });
  const textOf = ({ start, end }: ESTree.Span) => text.slice(start, end);

  const swap = (node: ESTree.BinaryExpression | ESTree.LogicalExpression) => {
    const swapped = SWAPPED[node.operator];
    if (swapped === undefined) return;
    const start = text.indexOf(node.operator, node.left.end);
    add(swapped[0], { start, end: start + node.operator.length, text: swapped[1] }, node);
  };
  const negate = (test: ESTree.Expression) => {
    // The opposite of a comparison is among the swapped operators.
    if (test.type !== 'BinaryExpression') add('negate', replace(test, `!(${textOf(test)})`), test);
  };
  const early = (node: ESTree.Function | ESTree.ArrowFunctionExpression) => {
    const { body, returnType } = node;
    if (body?.type !== 'BlockStatement' || body.body.length < 2) return;
    for (const value of earlyValues(returnType?.typeAnnotation))
      add('early', { start: body.start + 1, end: body.start + 1, text: ` return${value};` }, body, 'body');
  };
  const dropMembers = (members: readonly (ESTree.Span | null)[], siteOf: (at: number) => ESTree.Span | null) => {
    if (members.length < 2) return;
    for (const [at, member] of members.entries()) {
      const [before, after] = [members[at - 1], members[at + 1]];
      if (member === null || before === null || after === null) continue;
      const edit =
        after === undefined ? { start: before?.end ?? member.start, end: member.end } : { start: member.start, end: after.start };
      const site = siteOf(at);
      add('element', { ...edit, text: '' }, site ?? member, site === null ? 'module' : 'expression');
    }
  };

  let in_type = 0;
  const keys = new Set<number>();
  new Visitor({
    BinaryExpression: swap,
    LogicalExpression: swap,
    IfStatement(node) {
      negate(node.test);
      if (node.alternate === null && isExit(node.consequent)) add('guard', replace(node, ';'), node, 'statement');
    },
    ConditionalExpression: (node) => negate(node.test),
    ExpressionStatement(node) {
      if ('directive' in node && typeof node.directive === 'string') return;
      if (LOGS.test(textOf(node))) return;
      add('drop', replace(node, ';'), node, 'statement');
      if (node.expression.type === 'AwaitExpression')
        add('await', { start: node.start, end: node.start + 'await'.length, text: 'void' }, node, 'statement');
    },
    FunctionDeclaration: early,
    FunctionExpression: early,
    ArrowFunctionExpression: early,
    Property(node) {
      if (!node.computed) keys.add(node.key.start);
    },
    TSLiteralType: () => void in_type++,
    'TSLiteralType:exit': () => void in_type--,
    Literal(node) {
      if (in_type > 0 || keys.has(node.start)) return;
      if (typeof node.value === 'boolean') add('flag', replace(node, String(!node.value)), node);
      if (typeof node.value === 'number' && Number.isInteger(node.value) && node.value <= LARGEST_CONSTANT)
        add('constant', replace(node, String(node.value + 1)), node);
    },
    ArrayExpression: ({ elements }) =>
      dropMembers(elements, (at) => (elements[at]?.type === 'SpreadElement' ? null : (elements[at] ?? null))),
    ObjectExpression: ({ properties }) =>
      dropMembers(properties, (at) => {
        const property = properties[at];
        const wrappable = property?.type === 'Property' && !property.method && !property.shorthand && property.kind === 'init';
        return wrappable ? property.value : null;
      }),
    CallExpression({ callee, arguments: [first] }) {
      if (callee.type !== 'MemberExpression' || callee.property.type !== 'Identifier' || callee.computed) return;
      const counterpart = COUNTERPART.get(callee.property.name);
      if (counterpart === undefined || first === undefined || first.type === 'SpreadElement') return;
      add('method', replace(callee.property, counterpart), first);
    },
  }).visit(parse(text));
  return found;
}

/** Throws for text that is no program. */
function parse(text: string): ESTree.Program {
  const { program, errors } = parseSync('program.ts', text, { lang: 'ts' });
  const [error] = errors;
  if (error !== undefined) throw new SyntaxError(error.message);
  return program;
}

export function isProgram(text: string): boolean {
  return parseSync('program.ts', text, { lang: 'ts' }).errors.length === 0;
}

function lineStarts(text: string): number[] {
  return [0, ...[...text.matchAll(/\n/g)].map(({ index }) => index + 1)];
}

/** What a function with this result can return at once. */
function earlyValues(type: ESTree.TSType | undefined): readonly string[] {
  if (type?.type === 'TSVoidKeyword') return [''];
  if (type?.type === 'TSBooleanKeyword') return [' true', ' false'];
  if (type?.type !== 'TSTypeReference' || type.typeName.type !== 'Identifier' || type.typeName.name !== 'Promise') return [];
  return earlyValues(type.typeArguments?.params[0]);
}

const EXITS: ReadonlySet<string> = new Set(['ReturnStatement', 'ThrowStatement', 'ContinueStatement', 'BreakStatement']);

function isExit(statement: ESTree.Statement): boolean {
  if (statement.type !== 'BlockStatement') return EXITS.has(statement.type);
  return EXITS.has(statement.body.at(-1)?.type ?? '');
}

export const apply = (text: string, { start, end, text: by }: Edit): string => text.slice(0, start) + by + text.slice(end);

/**
 * The program with a note wherever a mutant would run: its number is appended to the file, once a process. It behaves as before,
 * on every runtime that has files.
 */
export function withProbes(text: string, mutants: readonly (readonly [number: number, mutant: Mutant])[], notes: string): string {
  const inserts: { at: number; text: string; closes: boolean; other: number }[] = [];
  let first = '';
  for (const [number, { site }] of mutants) {
    const { start, end, kind } = site;
    const note = `__reached(${number})`;
    if (kind === 'module') first += `${note};`;
    else if (kind === 'body') inserts.push({ at: start + 1, text: ` ${note};`, closes: false, other: end });
    else {
      const [open, close] = kind === 'statement' ? [`{ ${note}; `, ' }'] : [`(${note}, `, ')'];
      inserts.push({ at: start, text: open, closes: false, other: end }, { at: end, text: close, closes: true, other: start });
    }
  }
  // Where several meet, what begins later ends earlier.
  inserts.sort((a, b) => a.at - b.at || Number(b.closes) - Number(a.closes) || b.other - a.other);
  let at = 0;
  let result = '';
  for (const insert of inserts) {
    result += text.slice(at, insert.at) + insert.text;
    at = insert.at;
  }
  return `${prelude(notes)} ${first}${result}${text.slice(at)}`;
}

/** On one line, so that lines keep their numbers. A function statement, which is there before any module that imports this one runs. */
const prelude = (notes: string): string =>
  `function __reached(n: number): void { const g: any = globalThis; const seen = (g.__reached_numbers ??= new Set()); if (seen.has(n)) return; seen.add(n); g.process?.getBuiltinModule?.('node:fs')?.appendFileSync(${JSON.stringify(notes)}, n + ' '); }`;
