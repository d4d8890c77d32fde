import { estimateTokens } from '#core/lib/tokens.ts';

/** Tokens per character in the answers of one definition. */
interface Rate {
  readonly per_character: number;
  /** Length of the measured answer. */
  readonly of: number;
  left: number;
}

/** An answer is measured again after this many calls, or when its length differs from the last one by this factor. */
const AGAIN = 500;
const DIFFERS = 3;
/** Most characters that are measured. */
const SAMPLE = 2_000;
const STRUCTURED = '"structuredContent":';

const rates = new WeakMap<object, Rate>();

/**
 * Estimates how many tokens an answer costs a model. Measuring every answer would cost more than the call, so most estimates use
 * the rate of an earlier answer: answers of one definition are alike. @param definition a frozen one.
 */
export function answerTokens(definition: object, members: string): number {
  const { length } = members;
  if (length === 0) return 0;
  let rate = rates.get(definition);
  if (rate === undefined || rate.left <= 0 || length > rate.of * DIFFERS || length * DIFFERS < rate.of) {
    rate = { per_character: rateOf(members), of: length, left: AGAIN };
    rates.set(definition, rate);
  }
  rate.left--;
  return Math.round(length * rate.per_character);
}

/** An answer contains its structured content twice, but a model reads it once. */
function rateOf(members: string): number {
  const start = members.indexOf(STRUCTURED);
  const read = start < 0 ? members : members.slice(start + STRUCTURED.length);
  const sample = read.slice(0, SAMPLE);
  return (estimateTokens(sample) / sample.length) * (read.length / members.length);
}
