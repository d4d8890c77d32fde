const MOST_CHARACTERS = 64;
/**
 * Control characters, lone surrogates, format characters (bidirectional marks, zero width, tags), private use, line breaks, and
 * letters without a glyph.
 */
const HIDDEN = /\p{Cc}|\p{Cs}|\p{Cf}|\p{Co}|\p{Cn}|\p{Zl}|\p{Zp}|\p{Default_Ignorable_Code_Point}/gu;

/** The name that a client sent, in a form that is safe to display: 64 visible characters in one line. Null when none remain. */
export function clientName(given: unknown): string | null {
  if (typeof given !== 'string') return null;
  const visible = given.slice(0, 4_096).replaceAll(HIDDEN, '').replaceAll(/\s+/gu, ' ').trim();
  return Array.from(visible).slice(0, MOST_CHARACTERS).join('').trim() || null;
}
