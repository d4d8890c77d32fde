import { estimateTokens } from '#core/lib/tokens.ts';

/** Of one definition: what a character of its answers costs. */
interface Rate {
  readonly per_character: number;
  /** Length of the answer that was read. */
  readonly of: number;
  left: number;
}

/** An answer is read again after so many calls, or when it is this many times as long or short. */
const AGAIN = 500;
const DIFFERS = 3;
/** Characters that are read. */
const SAMPLE = 2_000;
const STRUCTURED = '"structuredContent":';

const rates = new WeakMap<object, Rate>();

/**
 * About how many tokens an answer costs a model. Reading every answer would cost more than the call, so most are worked out from
 * one that was read: answers of one definition are alike. @param definition a frozen one.
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

/** Structured content stands in an answer twice, and a model reads one of them. */
function rateOf(members: string): number {
  const start = members.indexOf(STRUCTURED);
  const read = start < 0 ? members : members.slice(start + STRUCTURED.length);
  const sample = read.slice(0, SAMPLE);
  return (estimateTokens(sample) / sample.length) * (read.length / members.length);
}
