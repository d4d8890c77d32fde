import { expect, test } from 'bun:test';
import { oneLine, wellFormedJson, withWholeEvents } from '#core/lib/text/wire-text.ts';
import { pythonLines } from '#test/support/python-lines.ts';

test.each([
  ['half a character', '\ud83d'],
  ['its other half', 'a\ude00b'],
  ['halves in the wrong order', '\ude00\ud83d'],
  ['one behind a backslash', '\\\ud83d'],
  ['a backslash before the letters of an escape', '\\ud83d'],
  ['a whole one', '😀 \\ud83d\\ude00'],
])('%s leaves as what it is, or as the sign for what is none', (_, text) => {
  const json = wellFormedJson(JSON.stringify({ text, [text]: [text] }));
  const whole = text.toWellFormed();
  expect(JSON.parse(json)).toEqual({ text: whole, [whole]: [whole] });
});

test('a pair that somebody else escaped stays a pair', () => {
  expect(wellFormedJson('["\\ud83d\\ude00\\uD83D"]')).toBe('["\\ud83d\\ude00\ufffd"]');
});

test('a message stays in one line, however its reader cuts', () => {
  const text = 'a\u2028b\u2029c\u0085d\x1ce\vf\ng\ud83d';
  const [line = '', ...rest] = pythonLines(oneLine(JSON.stringify({ text })));
  expect(rest).toEqual([]);
  expect(JSON.parse(line)).toEqual({ text: text.toWellFormed() });
});

test('events of a library are made whole too, also when they come in pieces', async () => {
  const bytes = new TextEncoder().encode(`data: ${JSON.stringify({ text: 'é\u2028😀\u2029' })}\n\n`);
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const byte of bytes) controller.enqueue(Uint8Array.of(byte));
      controller.close();
    },
  });
  const response = withWholeEvents(new Response(body, { headers: { 'content-type': 'text/event-stream' } }));
  const lines = pythonLines(await response.text());
  expect(lines).toEqual(['data: {"text":"é\\u2028😀\\u2029"}', '', '']);
});
