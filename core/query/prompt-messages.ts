import { shownText } from './shape.ts';

/** The messages that say something: APIs of models refuse a whole conversation for a blank one. A prompt has one at least. */
export function withText<M extends { readonly text: string }>(messages: readonly M[]): readonly M[] {
  const said = messages.filter(({ text }) => text.trim() !== '');
  return said.length > 0 ? said : messages.slice(0, 1).map((message) => ({ ...message, text: shownText(message.text) }));
}
