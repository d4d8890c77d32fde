/** What a text may name. Told from its letters alone, so that nothing it names is missed; it may name less. */
export interface Words {
  /** The name could stand in the text, in whatever case, quoted or not. */
  mentions(name: string): boolean;
  /** The letters of an operator stand in the text. */
  contains(letters: string): boolean;
}

const PLAIN = /^[a-z0-9_]+$/i;
/** Longer names are cut to this by PostgreSQL (`NAMEDATALEN`), which is more than MySQL allows. */
const NAME_BYTES = 63;

export function wordsOf(text: string): Words {
  const lower = text.toLowerCase();
  const words = new Set(lower.split(/[^a-z0-9_]+/).flatMap((word) => [word, word.slice(0, NAME_BYTES)]));
  return {
    mentions(name) {
      const wanted = name.toLowerCase();
      if (PLAIN.test(name)) return words.has(wanted);
      return (
        lower.includes(wanted) || lower.includes(wanted.replaceAll('"', '""')) || lower.includes(wanted.replaceAll('`', '``'))
      );
    },
    contains: (letters) => text.includes(letters),
  };
}
