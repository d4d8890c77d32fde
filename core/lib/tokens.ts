const PIECES = /[A-Za-z]+|\d{1,3}|[^\x20-\x7e\s]|[^A-Za-z0-9\s]+|\s{2,}|\n/g;

/**
 * About how many tokens a text costs a model. Words are split as the tokenizers of large models do on average: six letters of a word,
 * three digits, three signs in a row, one character of other scripts. No tokenizer is asked.
 */
export function estimateTokens(text: string): number {
  let tokens = 0;
  for (const [piece] of text.matchAll(PIECES)) {
    if (/^[A-Za-z]/.test(piece)) tokens += Math.ceil(piece.length / 6);
    else if (/^[!-/:-@[-`{-~]/.test(piece)) tokens += Math.ceil(piece.length / 3);
    else tokens++;
  }
  return tokens;
}
