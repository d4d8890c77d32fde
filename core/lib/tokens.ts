/** Classes of characters for counting tokens. A single space costs nothing. */
const BLANK = 0;
const LETTER = 1;
const DIGIT = 2;
const SIGN = 3;
/** Other scripts, and unprintable characters. */
const OTHER = 4;

const kindOf = (code: number): number => {
  const character = String.fromCharCode(code);
  if (/\s/.test(character)) return BLANK;
  if (/[A-Za-z]/.test(character)) return LETTER;
  if (/\d/.test(character)) return DIGIT;
  return /[ -~]/.test(character) ? SIGN : OTHER;
};
const ASCII = Uint8Array.from({ length: 128 }, (_, code) => kindOf(code));
/** The first blank beyond ASCII. */
const NO_BREAK_SPACE = 0xa0;
const LINE_FEED = 10;

const kindAt = (text: string, at: number): number => {
  const code = text.charCodeAt(at);
  if (code < 128) return ASCII[code]!;
  return code < NO_BREAK_SPACE || !/\s/.test(text[at]!) ? OTHER : BLANK;
};

/**
 * Estimates the number of tokens of a text for a model. Words are split as the tokenizers of large models do on average: six
 * letters of a word, three digits, three signs in a row, one character of other scripts, several blanks. No tokenizer is used.
 * Each character is read once, because results may have millions.
 */
export function estimateTokens(text: string): number {
  let tokens = 0;
  for (let at = 0; at < text.length;) {
    const kind = kindAt(text, at);
    const start = at++;
    if (kind === OTHER) tokens++;
    else if (kind === SIGN) {
      // After a sign, characters of other scripts count as signs.
      while (at < text.length && kindAt(text, at) >= SIGN) at++;
      tokens += Math.ceil((at - start) / 3);
    } else {
      while (at < text.length && kindAt(text, at) === kind) at++;
      const length = at - start;
      if (kind === LETTER) tokens += Math.ceil(length / 6);
      else if (kind === DIGIT) tokens += Math.ceil(length / 3);
      else if (length > 1 || text.charCodeAt(start) === LINE_FEED) tokens++;
    }
  }
  return tokens;
}
