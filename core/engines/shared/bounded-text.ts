import { beginning } from '#core/lib/text/shorten.ts';
import { AppError } from '#core/errors.ts';

/** Only this many characters of a database message are read, because it can quote a value of any length. */
const MESSAGE_CHARACTERS = 4_000;

/** Patterns only match this beginning of a message: some take time quadratic in its length. */
export const messageStart = (message: string): string => beginning(message, MESSAGE_CHARACTERS);

/** Takes time linear in the length of the text, however many spaces it contains. */
export const onOneLine = (text: string): string =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .join(' ');

/** The text of an untrusted response. Past `limit` characters it rejects with `too_large` and stops reading. */
export async function boundedText(response: Response, limit: number): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length > limit) throw new AppError('too_large', `The answer is longer than ${limit} characters.`);
  }
  return text + decoder.decode();
}

/** The body as text; empty unless the status is 200. */
export async function documentOf(response: Response, limit: number): Promise<{ readonly status: number; readonly text: string }> {
  const { status } = response;
  if (status === 200) return { status, text: await boundedText(response, limit) };
  await response.body?.cancel();
  return { status, text: '' };
}

/** Yields the lines of a response as they arrive. Rejects with `too_large` when a line is longer than `limit` characters. */
export async function* boundedLines(response: Response, limit: number): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let held: string[] = [];
  let size = 0;
  let blank = 0;
  for await (const chunk of response.body ?? []) {
    const text = decoder.decode(chunk, { stream: true });
    let from = 0;
    for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', from)) {
      const line = size === 0 ? text.slice(from, end) : held.join('') + text.slice(from, end);
      if (size > 0) held = [];
      size = 0;
      from = end + 1;
      // Lines without content count together, or they would come without end.
      const is_blank = line.trim() === '';
      blank = is_blank ? blank + line.length + 1 : 0;
      if (line.length > limit || blank > limit) throw tooLong(limit);
      if (!is_blank) yield line;
    }
    if (from < text.length) held.push(text.slice(from));
    size += text.length - from;
    if (size > limit) throw tooLong(limit);
  }
  const last = held.join('');
  if (last.trim() !== '') yield last;
}

const tooLong = (limit: number) => new AppError('too_large', `One line of the answer is longer than ${limit} characters.`);
