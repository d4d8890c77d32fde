import { cut } from '#core/lib/text/shorten.ts';
import { boundedText } from '#core/engines/shared/bounded-text.ts';

/** A request to somebody else's server, through the address guard. */
export type Ask = (url: string, init: AskInit) => Promise<Response>;

export interface AskInit {
  readonly method: string;
  readonly headers: Record<string, string>;
  readonly body?: string;
  readonly signal?: AbortSignal;
}

/** Of anything that a certificate authority or a DNS provider has to say. */
export const ANSWER_CHARACTERS = 1024 * 1024;

/** The JSON of an answer; null when it holds none. */
export async function readJson(response: Response): Promise<unknown> {
  try {
    return JSON.parse(await boundedText(response, ANSWER_CHARACTERS)) as unknown;
  } catch {
    return null;
  }
}

/** Why there is no certificate, as a sentence that says what to change. */
export class OrderError extends Error {
  override readonly name = 'OrderError';
}

const LONGEST = 500;

/** What another server said, on one line, with an end. */
export function asSentence(text: string): string {
  const line = text.replaceAll(/[\p{Cc}\s]+/gu, ' ').trim();
  const said = cut(line, LONGEST);
  return /[.!?…]$/.test(said) ? said : `${said}.`;
}
