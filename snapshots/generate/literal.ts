import type { SqlNode } from '#core/lib/sql/statement.ts';

const WIDTH = 110;
const PLAIN_KEY = /^[A-Za-z_$][\w$]*$/;

/**
 * Writes a JSON value as a TypeScript literal. Every string is the output of `JSON.stringify`, so that user input cannot end its
 * literal. Lone surrogates are escaped, because UTF-8 cannot encode them.
 */
export function literal(value: unknown, indent = ''): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'undefined';
  const inner = `${indent}  `;
  const is_list = Array.isArray(value);
  const parts = is_list
    ? value.map((item) => literal(item, inner))
    : Object.entries(value).flatMap(([key, item]) => (item === undefined ? [] : [`${keyOf(key)}: ${literal(item, inner)}`]));
  const [open, close] = is_list ? ['[', ']'] : ['{ ', ' }'];
  if (parts.length === 0) return is_list ? '[]' : '{}';
  const line = `${open}${parts.join(', ')}${close}`;
  if (line.length + indent.length <= WIDTH && !line.includes('\n')) return line;
  return `${open.trim()}\n${parts.map((part) => `${inner}${part},\n`).join('')}${indent}${close.trim()}`;
}

/** A plain `__proto__` key would set the prototype of the object. */
function keyOf(key: string): string {
  if (key === '__proto__') return `[${JSON.stringify(key)}]`;
  return PLAIN_KEY.test(key) ? key : JSON.stringify(key);
}

/** Writes statement nodes as a tagged template for the project's sql.ts: the original SQL, with values as substitutions. */
export function sqlLiteral(nodes: readonly SqlNode[]): string {
  return `sql\`${body(nodes)}\``;
}

function body(nodes: readonly SqlNode[]): string {
  return nodes.map((node) => (typeof node === 'string' ? templateText(node) : `\${${hole(node)}}`)).join('');
}

function hole(node: Exclude<SqlNode, string>): string {
  if ('block' in node) return `whenGiven(${node.names.map((name) => JSON.stringify(name)).join(', ')})\`${body(node.block)}\``;
  const { as, apart } = node;
  const read = as === undefined && apart === undefined ? '' : `, ${literal({ as, apart })}`;
  return `${tagOf(node)}(${JSON.stringify(node.name)}${read})`;
}

const TAGS = { in: 'anyOf', not_in: 'noneOf', limit: 'limitOf', offset: 'offsetOf', value: 'value' } as const;
type ValueNode = Extract<SqlNode, { name: string }>;
const tagOf = (node: ValueNode): string => TAGS[node.in ?? node.place ?? 'value'];

/**
 * Escapes text for a template literal (ECMA-262 section 12.9.6): a backslash, a backtick and `${` are syntax, and a carriage
 * return would become a line feed. Other control characters and lone surrogates would not survive editors and UTF-8.
 */
function templateText(text: string): string {
  return text
    .replace(/[\\`]|\$(?=\{)/g, '\\$&')
    .replace(/[^\P{Cc}\t\n]|[\p{Zl}\p{Zp}\p{Cs}]/gu, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** The names that a file with these nodes imports from sql.ts. */
export function sqlImports(nodes: readonly SqlNode[]): string[] {
  const used = new Set(['sql']);
  const visit = (list: readonly SqlNode[]): void => {
    for (const node of list) {
      if (typeof node === 'string') continue;
      used.add(/^\w+/.exec(hole(node))?.[0] ?? 'value');
      if ('block' in node) visit(node.block);
    }
  };
  visit(nodes);
  return [...used].toSorted();
}
