/** Longest text, in UTF-16 units, that is matched with a pattern. */
export const MAX_PATTERN_INPUT = 10_000;
/** Maximum steps per position; a text costs at most this times its length. */
const MAX_PROGRAM = 2_000;
const MAX_DEPTH = 50;

/** Why a pattern is refused, as the rest of a sentence that begins with the field's name. */
export class PatternError extends Error {
  override readonly name = 'PatternError';
}

type Step =
  | { readonly op: 'char'; readonly test: (char: string) => boolean }
  | { readonly op: 'assert'; readonly holds: (before: string, after: string) => boolean }
  | { readonly op: 'split'; to: number; or: number }
  | { readonly op: 'jump'; to: number }
  | { readonly op: 'done' };

export interface Pattern {
  readonly matches: (text: string) => boolean;
  /** Starts a match that can be advanced in slices. Costs nothing until it is first advanced. */
  begin(text: string): Matching;
}

/** Remaining steps. */
export interface Meter {
  steps: number;
}

/**
 * Compiles an ECMAScript pattern (flag `u`, unanchored, as in JSON Schema) into a test that takes time linear in the text: it
 * follows all alternatives at once, so no pattern can backtrack. Throws PatternError for look-around, back references and invalid
 * patterns.
 */
export function compilePattern(pattern: string): Pattern {
  try {
    RegExp(pattern, 'u');
  } catch {
    throw new PatternError('is not a valid regular expression.');
  }
  const program = layOut(parse(Array.from(pattern)));
  const begin = (text: string) => new Matching(program, text);
  return { begin, matches: (text) => begin(text).advance({ steps: Infinity }) === true };
}

/** The match of one text, which can be advanced in slices. */
export class Matching {
  readonly #program: readonly Step[];
  readonly #text: string;
  #position = 0;
  #at = 0;
  #before = '';
  #current: number[] = [];
  /** The position at which each step was last entered. Allocated on first use, because thousands of matches may be waiting. */
  #seen: Int32Array | null = null;

  constructor(program: readonly Step[], text: string) {
    this.#program = program;
    this.#text = text;
  }

  /** Continues until the result is known. Returns null when the meter runs out. */
  advance(meter: Meter): boolean | null {
    const program = this.#program;
    const text = this.#text;
    const seen = (this.#seen ??= new Int32Array(program.length).fill(-1));
    const pending: number[] = [];
    let position = this.#position;
    let before = this.#before;
    let steps = 0;
    /** Follows every step that consumes no character. Returns true when the pattern has matched. */
    const enter = (start: number, list: number[], after: string): boolean => {
      pending.push(start);
      for (let at = pending.pop(); at !== undefined; at = pending.pop()) {
        steps++;
        if (seen[at] === position) continue;
        seen[at] = position;
        const step = program[at]!;
        if (step.op === 'done') return true;
        if (step.op === 'char') list.push(at);
        else if (step.op === 'jump') pending.push(step.to);
        else if (step.op === 'split') pending.push(step.or, step.to);
        else if (step.holds(before, after)) pending.push(at + 1);
      }
      return false;
    };

    // These threads were entered one position earlier, when the next character was known.
    while (steps < meter.steps) {
      const code = text.codePointAt(this.#at);
      const after = code === undefined ? '' : String.fromCodePoint(code);
      const waiting: number[] = [];
      const found = this.#current.some((at) => enter(at, waiting, after)) || enter(0, waiting, after);
      if (found || code === undefined) {
        meter.steps -= steps;
        return found;
      }
      const moved: number[] = [];
      for (const at of waiting) {
        const step = program[at]!;
        if (step.op === 'char' && step.test(after)) moved.push(at + 1);
      }
      steps += waiting.length;
      this.#current = moved;
      this.#before = before = after;
      this.#position = ++position;
      this.#at += after.length;
    }
    meter.steps = 0;
    return null;
  }
}

const isWord = (char: string): boolean => /^\w$/.test(char);
const ASSERTIONS: Readonly<Record<string, (before: string, after: string) => boolean>> = {
  '^': (before) => before === '',
  $: (_, after) => after === '',
  '\\b': (before, after) => isWord(before) !== isWord(after),
  '\\B': (before, after) => isWord(before) === isWord(after),
};

type Node =
  | { readonly kind: 'step'; readonly step: Step }
  | { readonly kind: 'all'; readonly parts: readonly Node[] }
  | { readonly kind: 'any'; readonly parts: readonly Node[] }
  | { readonly kind: 'repeat'; readonly part: Node; readonly min: number; readonly max: number };

/** Compiles a tree to steps. The work is limited too, because repeating nothing a thousand times adds no step. */
function layOut(tree: Node): Step[] {
  const program: Step[] = [];
  let work = 0;
  const spend = (): void => {
    if (++work > 10 * MAX_PROGRAM || program.length > MAX_PROGRAM) {
      throw new PatternError('is too large; use smaller repetition counts.');
    }
  };
  const split = (): { op: 'split'; to: number; or: number } => {
    const step = { op: 'split' as const, to: program.length + 1, or: 0 };
    program.push(step);
    return step;
  };
  const add = (node: Node): void => {
    spend();
    if (node.kind === 'step') program.push(node.step);
    else if (node.kind === 'all') for (const part of node.parts) add(part);
    else if (node.kind === 'any') addAny(node.parts);
    else addRepeat(node);
  };
  const addAny = (parts: readonly Node[]): void => {
    const exits: { to: number }[] = [];
    for (const [i, part] of parts.entries()) {
      const choice = i < parts.length - 1 ? split() : undefined;
      add(part);
      if (!choice) continue;
      const exit = { op: 'jump' as const, to: 0 };
      program.push(exit);
      exits.push(exit);
      choice.or = program.length;
    }
    for (const exit of exits) exit.to = program.length;
  };
  const addRepeat = ({ part, min, max }: Extract<Node, { kind: 'repeat' }>): void => {
    for (let i = 0; i < min; i++) add(part);
    const skips: { or: number }[] = [];
    for (let i = min; i < (max === Infinity ? min + 1 : max); i++) {
      const start = program.length;
      skips.push(split());
      add(part);
      if (max === Infinity) program.push({ op: 'jump', to: start });
    }
    for (const skip of skips) skip.or = program.length;
  };
  add(tree);
  program.push({ op: 'done' });
  return program;
}

/** Recursive descent. The runtime has already validated the pattern, so only unsupported syntax needs a check. */
function parse(chars: readonly string[]): Node {
  let at = 0;
  let depth = 0;
  const ahead = (length: number): string => chars.slice(at, at + length).join('');
  const take = (text: string): boolean => {
    if (ahead(text.length) !== text) return false;
    at += text.length;
    return true;
  };

  const alternatives = (): Node => {
    if (++depth > MAX_DEPTH) throw new PatternError('nests groups too deeply.');
    const parts: Node[] = [];
    do {
      const terms: Node[] = [];
      while (at < chars.length && chars[at] !== '|' && chars[at] !== ')') terms.push(term());
      parts.push({ kind: 'all', parts: terms });
    } while (take('|'));
    depth--;
    return { kind: 'any', parts };
  };

  const term = (): Node => {
    const assertion = Object.entries(ASSERTIONS).find(([source]) => take(source));
    if (assertion) return { kind: 'step', step: { op: 'assert', holds: assertion[1] } };
    const part = atom();
    const count = quantifier();
    return count ? { kind: 'repeat', part, ...count } : part;
  };

  const atom = (): Node => {
    if (take('(')) {
      if (take('?') && !take(':')) groupName();
      const group = alternatives();
      at++;
      return group;
    }
    const start = at++;
    if (chars[start] === '[') {
      while (chars[at] !== ']') at += chars[at] === '\\' ? 2 : 1;
      at++;
    } else if (chars[start] === '\\') escape();
    return { kind: 'step', step: { op: 'char', test: charTest(chars.slice(start, at).join('')) } };
  };

  const groupName = (): void => {
    if (!/^<[^=!]/.test(ahead(2))) throw new PatternError('uses lookaround or inline flags, which are not supported.');
    at = chars.indexOf('>', at) + 1;
  };

  /** Moves past an escape whose backslash was read. */
  const escape = (): void => {
    const char = chars[at++] ?? '';
    if (/[1-9k]/.test(char)) throw new PatternError('uses a backreference, which is not supported.');
    if (char === 'c') at += 1;
    else if (char === 'x') at += 2;
    else if (/[pPu]/.test(char) && chars[at] === '{') at = chars.indexOf('}', at) + 1;
    else if (char === 'u') {
      const unit = Number.parseInt(ahead(4), 16);
      at += 4;
      // Two escapes of a surrogate pair are one character.
      if (unit >= 0xd800 && unit < 0xdc00 && /^\\u[dD][c-fC-F]/.test(ahead(4))) at += 6;
    }
  };

  const quantifier = (): { min: number; max: number } | undefined => {
    const [whole, sign, low, comma, high] = /^(?:([*+?])|\{(\d{1,9})(,?)(\d{0,9})\})\??/.exec(ahead(24)) ?? [];
    if (whole === undefined) {
      if (chars[at] === '{') throw new PatternError('is too large; use smaller repetition counts.');
      return undefined;
    }
    at += whole.length;
    if (sign !== undefined) return { min: sign === '+' ? 1 : 0, max: sign === '?' ? 1 : Infinity };
    const min = Number(low);
    if (comma === '') return { min, max: min };
    return { min, max: high === '' ? Infinity : Number(high) };
  };

  return alternatives();
}

/** Tests one character with the runtime's regular expressions, with a table for ASCII. */
function charTest(source: string): (char: string) => boolean {
  if (/^[^\\[.]$/u.test(source)) return (char) => char === source;
  const single = new RegExp(`^(?:${source})$`, 'u');
  const table = Uint8Array.from({ length: 128 }, (_, code) => (single.test(String.fromCharCode(code)) ? 1 : 0));
  return (char) => {
    const code = char.charCodeAt(0);
    return code < 128 ? table[code] === 1 : single.test(char);
  };
}
