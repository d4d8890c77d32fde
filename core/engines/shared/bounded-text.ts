import { beginning } from '#core/lib/text/shorten.ts';
import { AppError } from '#core/errors.ts';

/** Characters of a message of a database that are read; it can quote a value of any length. */
const MESSAGE_CHARACTERS = 4_000;

/** The beginning of a message of a database. Patterns are matched with nothing longer: some take time quadratic in its length. */
export const messageStart = (message: string): string => beginning(message, MESSAGE_CHARACTERS);

/** In time linear in the length of the text, whatever blanks are in it. */
export const onOneLine = (text: string): string =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .join(' ');

/** The text of an answer that nobody vouches for; past `limit` characters it rejects with `too_large` and reads no further. */
export async function boundedText(response: Response, limit: number): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length > limit) throw new AppError('too_large', `The answer is longer than ${limit} characters.`);
  }
  return text + decoder.decode();
}

/** The text of a document, empty where the answer is not 200. */
export async function documentOf(response: Response, limit: number): Promise<{ readonly status: number; readonly text: string }> {
  const { status } = response;
  if (status === 200) return { status, text: await boundedText(response, limit) };
  await response.body?.cancel();
  return { status, text: '' };
}

/** Lines of an answer as they arrive; one that is longer than `limit` characters ends them with `too_large`. */
export async function* boundedLines(response: Response, limit: number): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let held: string[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    const text = decoder.decode(chunk, { stream: true });
    let from = 0;
    for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', from)) {
      const line = held.join('') + text.slice(from, end);
      held = [];
      size = 0;
      from = end + 1;
      if (line.length > limit) throw tooLong(limit);
      if (line.trim() !== '') yield line;
    }
    held.push(text.slice(from));
    size += text.length - from;
    if (size > limit) throw tooLong(limit);
  }
  const last = held.join('');
  if (last.trim() !== '') yield last;
}

const tooLong = (limit: number) => new AppError('too_large', `One line of the answer is longer than ${limit} characters.`);
