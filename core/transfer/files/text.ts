import { Document, isMap, isScalar, isSeq, LineCounter, type Node, parseDocument, type YAMLMap } from 'yaml';
import { AppError } from '#core/errors.ts';
import { refuseUnkeepable } from '#core/process/issues.ts';
import { canonical } from '#snapshots/format/canonical.ts';
import type { EntityValues } from '#core/store/entity-table.ts';
import { mergeMap } from './edit.ts';
import { withUnchanged } from './splice.ts';

/** An error in a file, with its line. */
export class TextFault extends Error {
  override readonly name = 'TextFault';
  readonly line: number;
  constructor(line: number, message: string) {
    super(message);
    this.line = line;
  }
}

/** A parsed file. */
export interface FileText {
  readonly values: EntityValues;
  /** The line, from 1, of a field such as `parameters.0.name`, or of the nearest enclosing one. */
  readonly lineOf: (field: string | null) => number;
}

interface Parts {
  /** Null without front matter. */
  readonly yaml: string;
  readonly yaml_line: number;
  readonly body: string | null;
  readonly body_line: number;
}

/** Without the flag `m`, with which other characters end a line too. */
const FRONT = /^---[ \t]*\r?\n([\s\S]*?)(?<=\n)---[ \t]*(?:\r?\n|$)/;

function split(text: string, body: string | null): Parts {
  const plain = text.startsWith('\uFEFF') ? text.slice(1) : text;
  if (body === null) return { yaml: plain, yaml_line: 1, body: null, body_line: 1 };
  const front = FRONT.exec(plain);
  if (front === null || front.index !== 0) {
    throw new TextFault(
      1,
      `The file must begin with YAML between two lines of three hyphens (---), and then the ${NOUN[body] ?? body}.`,
    );
  }
  const [all, yaml = ''] = front;
  const rest = plain.slice(all.length);
  // Editors end a file with a line break, which is not part of any field.
  return { yaml, yaml_line: 2, body: rest.replace(/\r?\n$/, ''), body_line: all.split('\n').length };
}

const NOUN: Readonly<Record<string, string>> = { sql_query: 'SQL', template: 'template' };

function parseYaml(yaml: string, first_line: number): { document: Document; map: YAMLMap; lines: LineCounter } {
  const lines = new LineCounter();
  const document = parseDocument(yaml, {
    lineCounter: lines,
    prettyErrors: false,
    uniqueKeys: true,
    version: '1.2',
    schema: 'core',
  });
  const [fault] = [...document.errors, ...document.warnings];
  if (fault !== undefined) {
    throw new TextFault(
      lines.linePos(fault.pos[0]).line + first_line - 1,
      `The YAML cannot be read: ${fault.message.replace(/\.?$/, '.')}`,
    );
  }
  const map = document.contents as Node | null;
  if (!isMap(map)) throw new TextFault(first_line, 'The YAML must be lines of `field: value`.');
  return { document, map, lines };
}

/** Throws TextFault. @param body the field whose text follows the front matter. */
export function readText(text: string, body: string | null): FileText {
  const parts = split(text, body);
  const { document, map, lines } = parseYaml(parts.yaml, parts.yaml_line);
  const lineAt = (path: readonly string[]): number => lines.linePos(positionOf(map, path)).line + parts.yaml_line - 1;
  const lineOf = (field: string | null): number => {
    const path = field === null || field === '' ? [] : field.split('.');
    return body !== null && path[0] === body ? parts.body_line : lineAt(path);
  };
  let values: EntityValues;
  try {
    values = document.toJS({ maxAliasCount: 100 }) as EntityValues;
    refuseUnkeepable(values);
  } catch (error) {
    const [first] = error instanceof AppError ? error.errors : [];
    if (first !== undefined) throw new TextFault(lineOf(first.field), first.message);
    throw new TextFault(parts.yaml_line, 'The YAML has too many aliases.');
  }
  if (body === null) return { values, lineOf };
  if (Object.hasOwn(values, body)) throw new TextFault(lineAt([body]), `${body} stands below the front matter, not in it.`);
  return { values: parts.body === '' ? values : { ...values, [body]: parts.body }, lineOf };
}

/** The start of the deepest existing part of the path. */
function positionOf(node: unknown, [key, ...rest]: readonly string[]): number {
  const start = (found: unknown): number => (found as { range?: [number] | null } | null)?.range?.[0] ?? 0;
  if (key !== undefined && isMap(node)) {
    const pair = node.items.find((item) => isScalar(item.key) && String(item.key.value) === key);
    if (pair !== undefined)
      return rest.length === 0 || !hasPath(pair.value, rest) ? start(pair.key) : positionOf(pair.value, rest);
  }
  if (key !== undefined && isSeq(node) && node.items[Number(key)] !== undefined) return positionOf(node.items[Number(key)], rest);
  return start(node);
}

const hasPath = (node: unknown, [key]: readonly string[]): boolean =>
  isMap(node) ? node.items.some((item) => isScalar(item.key) && String(item.key.value) === key) : isSeq(node);

/** Forms of the same YAML, the most readable first. Some texts are only read back unchanged in quotes. */
const FORMS = [
  { lineWidth: 0, blockQuote: 'literal' },
  {
    lineWidth: 0,
    blockQuote: false,
    defaultStringType: 'QUOTE_DOUBLE',
    defaultKeyType: 'QUOTE_DOUBLE',
    doubleQuotedAsJSON: true,
  },
] as const;

const compose = (yaml: string, values: EntityValues, body: string | null): string => {
  if (body === null) return yaml;
  const text = values[body];
  const written = typeof text === 'string' ? text : '';
  // After a carriage return, a line break would be read as a Windows line ending.
  return `---\n${yaml}---\n${written}${written === '' || written.endsWith('\r') ? '' : '\n'}`;
};

const holds = (text: string, values: EntityValues, body: string | null): boolean => {
  try {
    return canonical(readText(text, body).values) === canonical(values);
  } catch (error) {
    if (error instanceof TextFault) return false;
    throw error;
  }
};

const withoutBody = (values: EntityValues, body: string | null): EntityValues =>
  Object.fromEntries(Object.entries(values).filter(([name, value]) => name !== body && value !== undefined));

/** A file with these values. */
export function writeText(values: EntityValues, body: string | null): string {
  const front = withoutBody(values, body);
  const expected = body !== null && (values[body] === null || values[body] === '') ? front : values;
  for (const form of FORMS) {
    const text = compose(new Document(front, { version: '1.2' }).toString(form), values, body);
    if (holds(text, expected, body)) return text;
  }
  throw new AppError('internal', 'These values cannot be written as YAML.');
}

/**
 * Changes the values of a file, and preserves its comments, the order of its fields and their formatting.
 * @param slim the values of a new file. @param full the values with all defaults, for the fields that the file contains.
 */
export function editText(text: string, slim: EntityValues, full: EntityValues, body: string | null): string | null {
  const parts = split(text, body);
  const { document, map } = parseYaml(parts.yaml, parts.yaml_line);
  mergeMap(document, map, withoutBody(slim, body), withoutBody(full, body));
  return compose(withUnchanged(parts.yaml, document.toString({ lineWidth: 0, blockQuote: 'literal' })), full, body);
}
