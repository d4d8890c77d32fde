import { isMembers, type Members } from '#core/lib/view/table.ts';
import { parseJson } from '#ui/src/kernel/json.ts';

/** The text of an answer; what a stream of events asks is handed over while it is read. */
export async function readAnswer(response: Response, onRequest: (request: Members) => void): Promise<string> {
  const reader = response.headers.get('content-type')?.startsWith('text/event-stream') ? response.body?.getReader() : undefined;
  if (reader === undefined) return response.text();
  const decoder = new TextDecoder();
  let text = '';
  let seen = 0;
  for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) {
    text += decoder.decode(chunk.value, { stream: true });
    for (let end = text.indexOf('\n\n', seen); end >= 0; end = text.indexOf('\n\n', seen)) {
      const message = parse(dataOf(text.slice(seen, end)));
      seen = end + 2;
      if (message?.['method'] === 'elicitation/create' && message['id'] !== undefined) onRequest(message);
    }
  }
  return text;
}

/** The response among the events of a stream. */
export function fromEvents(body: string, id: number): Members | undefined {
  const messages = body.split('\n\n').map((event) => parse(dataOf(event)));
  return messages.find((message) => message?.['id'] === id);
}

const dataOf = (event: string): string =>
  event
    .split('\n')
    .filter((line) => line.startsWith('data:'))
    .map((line) => line.slice('data:'.length))
    .join('\n');

export function parse(text: string): Members | undefined {
  const value = parseJson(text);
  return isMembers(value) ? value : undefined;
}
