import { cut } from '#core/lib/text/shorten.ts';
import { boundedText } from '#core/engines/shared/bounded-text.ts';

/** Sends a request to an external server, through the address guard. */
export type Ask = (url: string, init: AskInit) => Promise<Response>;

export interface AskInit {
  readonly method: string;
  readonly headers: Record<string, string>;
  readonly body?: string;
  readonly signal?: AbortSignal;
}

/** Maximum characters of a response from a certificate authority or DNS provider. */
export const ANSWER_CHARACTERS = 1024 * 1024;

/** The JSON of a response; null when it is not JSON. */
export async function readJson(response: Response): Promise<unknown> {
  try {
    return JSON.parse(await boundedText(response, ANSWER_CHARACTERS)) as unknown;
  } catch {
    return null;
  }
}

/** Says why there is no certificate, and what to change. */
export class OrderError extends Error {
  override readonly name = 'OrderError';
}

const LONGEST = 500;

/** A message of another server as one line that ends with punctuation. */
export function asSentence(text: string): string {
  const line = text.replaceAll(/[\p{Cc}\s]+/gu, ' ').trim();
  const sentence = cut(line, LONGEST);
  return /[.!?…]$/.test(sentence) ? sentence : `${sentence}.`;
}
