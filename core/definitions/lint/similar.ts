/** Of a long description the beginning counts: what a model reads first. */
const COMPARED = 500;
/** Descriptions with so much in common are too similar. */
export const ALIKE = 0.8;

/** The groups of three letters of a text, each once, in the order of their numbers. */
export type Grams = Uint32Array;

export function gramsOf(text: string): Grams {
  const plain = text
    .slice(0, COMPARED)
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim();
  const found = new Set<number>();
  for (let at = 0; at + 3 <= plain.length; at++) {
    const [a, b, c] = [plain.charCodeAt(at), plain.charCodeAt(at + 1), plain.charCodeAt(at + 2)];
    found.add((Math.imul(Math.imul(a, 65_599) + b, 65_599) + c) >>> 0);
  }
  return Uint32Array.from(found).sort();
}
