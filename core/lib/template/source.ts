import { AppError } from '#core/errors.ts';

interface Token {
  readonly type: string;
  readonly value: unknown;
  readonly lineno: number;
  readonly colno: number;
}

/** A node of nunjucks' parser (lines and columns from 0). It is only translated, never run. */
export interface SourceNode {
  readonly typename: string;
  readonly lineno: number;
  readonly colno: number;
  readonly [field: string]: unknown;
}

interface Tokenizer {
  readonly lineno: number;
  readonly colno: number;
  currentStr(): string | undefined;
  forwardN(count: number): void;
  isFinished(): boolean;
}

/** The members of nunjucks 3.2.4's parser that are used here. */
interface Parser {
  readonly tokens: Tokenizer;
  readonly open_tags: Token[];
  dropLeadingWhitespace: boolean;
  peekToken(): Token | null;
  nextToken(): Token | null;
  skip(type: string): boolean;
  skipSymbol(value: string): boolean;
  fail(message: string, lineno?: number, colno?: number): never;
  advanceAfterBlockEnd(name?: string): Token;
  parseAsRoot(): SourceNode;
  parseStatement(): SourceNode | null;
  parseAggregate(): SourceNode | null;
  parseSignature(): SourceNode;
  parseInlineIf(): SourceNode;
  parseExpression(): SourceNode;
  parsePrimary(): SourceNode;
  parseCompare(): SourceNode;
  parseOr(): SourceNode;
}

const TAGS = new Set(['if', 'for', 'set', 'filter', 'raw', 'verbatim']);
const CLOSING = new Set(['elif', 'elseif', 'else', 'endif', 'endfor', 'endset', 'endfilter', 'endraw', 'endverbatim']);
/** Words that cannot begin the argument of a test: `x is defined and …`. */
const AFTER_TEST = new Set(['and', 'or', 'not', 'if', 'else', 'in', 'is']);
const ARGUMENT_STARTS = new Set(['string', 'int', 'float', 'boolean', 'none', 'symbol', 'left-bracket', 'left-curly']);

/**
 * Parses the text with nunjucks' tokenizer and parser. Its compiler, runtime and environment are never loaded. The parser is
 * loaded on first use, because a host with parsed templates does not need it.
 * Throws `invalid` with line, column and position.
 */
export function readSource(text: string): SourceNode {
  const { Parser } = require('nunjucks/src/parser.js') as { Parser: (new (tokens: Tokenizer) => Parser) & { prototype: Parser } };
  const { lex } = require('nunjucks/src/lexer.js') as { lex: (text: string, options: object) => Tokenizer };
  const parser = Object.assign(new Parser(lex(text, {})), { open_tags: [] }, jinjaSyntax(Parser.prototype));
  try {
    return parser.parseAsRoot();
  } catch (error) {
    throw syntaxError(text, parser, error);
  }
}

/** Adds syntax of Jinja2 that nunjucks does not support, and refuses syntax that must not be used. */
const jinjaSyntax = (base: Parser) => ({
  parseStatement(this: Parser): SourceNode | null {
    const tag = this.peekToken();
    if (tag?.type === 'symbol' && !TAGS.has(String(tag.value)) && !CLOSING.has(String(tag.value))) {
      this.fail(`unavailable tag ${String(tag.value)}`, tag.lineno, tag.colno);
    }
    if (tag !== null) this.open_tags.push(tag);
    const statement = base.parseStatement.call(this);
    this.open_tags.pop();
    return statement;
  },

  /** Raw text ends at the first end tag. Throws when there is none. */
  parseRaw(this: Parser, name = 'raw'): SourceNode {
    const { lineno, colno } = this.advanceAfterBlockEnd();
    const rest = this.tokens.currentStr() ?? '';
    const end = new RegExp(`\\{%(-?)\\s*end${name}\\s*(-?)%\\}`).exec(rest);
    if (end === null) return this.fail(`unclosed ${name}`, lineno, colno);
    const [tag, before, after] = end;
    const text = rest.slice(0, end.index);
    this.tokens.forwardN(end.index + tag.length);
    const trimmed = this.dropLeadingWhitespace ? text.trimStart() : text;
    this.dropLeadingWhitespace = after === '-';
    const value = before === '-' ? trimmed.trimEnd() : trimmed;
    return node('Output', { lineno, colno }, { children: [node('TemplateData', { lineno, colno }, { value })] });
  },

  /** A test with its arguments, in brackets, or a single one without: `x is divisibleby 3`. */
  parseIs(this: Parser): SourceNode {
    const left = this.parseCompare();
    if (!this.skipSymbol('is')) return left;
    const inverted = this.skipSymbol('not');
    const name = this.nextToken();
    if (name === null || !['symbol', 'none', 'boolean'].includes(name.type)) {
      return this.fail('expected test name', name?.lineno, name?.colno);
    }
    const next = this.peekToken();
    const is = node('Is', name, { name: String(name.value), left, args: [] as unknown });
    if (next?.type === 'left-paren') Object.assign(is, { args: this.parseSignature()['children'] });
    else if (next && ARGUMENT_STARTS.has(next.type) && !AFTER_TEST.has(String(next.value))) {
      Object.assign(is, { args: [this.parsePrimary()] });
    }
    return inverted ? node('Not', name, { target: is }) : is;
  },

  parseInlineIf(this: Parser): SourceNode {
    const body = this.parseOr();
    if (!this.skipSymbol('if')) return body;
    const cond = this.parseOr();
    return node('InlineIf', body, { body, cond, else_: this.skipSymbol('else') ? this.parseInlineIf() : null });
  },

  parseFilterArgs(this: Parser): unknown {
    return this.peekToken()?.type === 'left-paren' ? this.parseSignature()['children'] : [];
  },

  /** Lists may end with a comma, and `[start:stop:step]` is a slice. */
  parseAggregate(this: Parser): SourceNode | null {
    const open = this.peekToken();
    if (open?.type !== 'left-bracket') return base.parseAggregate.call(this);
    this.nextToken();
    const children: SourceNode[] = [];
    const bounds: (SourceNode | null)[] = [null];
    let colons = 0;
    while (!this.skip('right-bracket')) {
      if (this.skip('colon')) {
        colons += 1;
        bounds.push(null);
        continue;
      }
      if (bounds.at(-1) !== null) this.fail(colons === 0 ? 'expected comma' : 'expected bracket');
      const value = this.parseExpression();
      if (!this.skip('comma') && colons === 0) {
        if (this.peekToken()?.type === 'colon' && children.length === 0) bounds[0] = value;
        else if (this.peekToken()?.type !== 'right-bracket') this.fail('expected comma');
        if (bounds[0] === null) children.push(value);
      } else if (colons > 0) bounds[colons] = value;
      else children.push(value);
    }
    if (colons > 2) this.fail('a slice has at most three parts', open.lineno, open.colno);
    return node('Array', open, { children: colons === 0 ? children : [node('Slice', open, { bounds })] });
  },
});

const node = (typename: string, { lineno, colno }: { lineno: number; colno: number }, fields: object): SourceNode => ({
  typename,
  lineno,
  colno,
  ...fields,
});

/** Error messages by the messages of nunjucks. The first match is used. */
const SENTENCES: readonly (readonly [RegExp, (match: RegExpExecArray) => string])[] = [
  [/^unavailable tag ([A-Za-z_]\w{0,63})$/, ([, tag]) => `The tag "${tag}" is not available in templates`],
  [/^unclosed (raw|verbatim)$/, ([, tag]) => `The tag "${tag}" is never closed with "end${tag}"`],
  [/^unknown block tag: (\w{1,64})$/, ([, tag]) => `"${tag}" closes a tag that is not open`],
  [/^expected variable end/, () => 'The expression should end here with "}}"'],
  [/^expected block end in (\w{1,64})/, ([, tag]) => `The tag "${tag}" should end here with "%}"`],
  [/end of comment/, () => 'A comment is opened with "{#" or closed with "#}" without the other'],
  [/^tag name expected/, () => 'The name of a tag is expected after "{%"'],
  [/^expected test name/, () => 'The name of a test is expected after "is"'],
  [/expected colon after dict key/, () => 'A colon is expected after the key of an object'],
  [/expected comma/, () => 'A comma is expected here'],
  [/expected bracket|three parts/, () => 'A slice is written [start:stop:step]'],
  [/^expected name as lookup value/, () => 'A name is expected after the dot; an item of a list is written [0]'],
  [/^unexpected token|^expected expression/, () => 'An expression is expected here'],
  [/variable name expected for loop/, () => 'A variable name is expected after "for"'],
  [/expected "in" keyword/, () => 'The word "in" is expected in a "for" tag'],
];

function syntaxError(text: string, parser: Parser, error: unknown): AppError {
  if (error instanceof RangeError) return new AppError('invalid', 'The template is nested too deeply.', { cause: error });
  const { message = '', lineno, colno } = error as { message?: string; lineno?: number; colno?: number };
  if (parser.tokens.isFinished() && lineno === undefined && !/comment/.test(message)) return unfinished(text, parser, error);
  const line = lineno ?? parser.tokens.lineno + 1;
  const column = colno ?? parser.tokens.colno + 1;
  for (const [pattern, sentence] of SENTENCES) {
    const match = pattern.exec(message);
    if (match !== null) return templateError(text, line, column, sentence(match), error);
  }
  return templateError(text, line, column, 'The template cannot be read', error);
}

/** When the text ends within a tag or before an end tag, the error is reported at the last opened tag. */
function unfinished(text: string, { open_tags, tokens }: Parser, error: unknown): AppError {
  const tag =
    open_tags.find(({ value }) => !CLOSING.has(String(value))) && open_tags.findLast(({ value }) => TAGS.has(String(value)));
  if (tag === undefined) return templateError(text, tokens.lineno + 1, tokens.colno + 1, 'The template ends inside a tag', error);
  const name = String(tag.value);
  return templateError(text, tag.lineno + 1, tag.colno + 1, `The tag "${name}" is never closed with "end${name}"`, error);
}

/** An error at a position of the template. Lines and columns are counted from 1. */
export function templateError(text: string, line: number, column: number, sentence: string, cause?: unknown): AppError {
  const lines = text.split('\n').slice(0, line);
  const within = Math.min(column, (lines.at(-1)?.length ?? 0) + 1);
  const position = lines.slice(0, -1).reduce((length, { length: next }) => length + next + 1, within - 1);
  return new AppError('invalid', `${sentence} (line ${line}, column ${within} of the template).`, { cause, position });
}

export const lineOf = (at: SourceNode): number => at.lineno + 1;

/** The items of `a and b and c`, which nests to the left. */
export function spine(at: SourceNode, typename: string): SourceNode[] {
  const items: SourceNode[] = [];
  let left = at;
  for (; left.typename === typename; left = left['left'] as SourceNode) items.push(left['right'] as SourceNode);
  return [left, ...items.toReversed()];
}

export const nodes = (list: unknown): SourceNode[] => (Array.isArray(list) ? (list as SourceNode[]) : []);
export const optional = (value: unknown): SourceNode | null => (value as SourceNode | null | undefined) ?? null;
