import { isMap, isScalar, parseDocument } from 'yaml';
import { canonical } from '#snapshots/format/canonical.ts';

/** A top-level field of a YAML file, with the comments above it. */
interface Part {
  readonly name: string;
  readonly text: string;
  readonly value: string;
}

interface Parts {
  readonly head: string;
  readonly parts: readonly Part[];
}

/** The text of each field. Null when fields do not start on separate lines. */
function partsOf(yaml: string): Parts | null {
  const document = parseDocument(yaml, { version: '1.2', schema: 'core' });
  if (document.errors.length > 0 || !isMap(document.contents)) return null;
  const found = document.contents.items.map(({ key, value }) => ({
    name: isScalar(key) ? String(key.value) : '',
    at: isScalar(key) ? (key.range?.[0] ?? 0) : 0,
    value: canonical((value as { toJS?: (of: unknown) => unknown } | null)?.toJS?.(document)),
  }));
  if (found.some(({ at }) => at > 0 && yaml[at - 1] !== '\n')) return null;
  const starts = found.map(({ at }) => withComments(yaml, at));
  const head = yaml.slice(0, starts[0] ?? yaml.length);
  const parts = found.map(({ name, value }, n) => ({ name, value, text: yaml.slice(starts[n], starts[n + 1] ?? yaml.length) }));
  return { head, parts };
}

/** The start of the comments and empty lines above a line. */
function withComments(yaml: string, at: number): number {
  for (let start = at; ;) {
    const line = yaml.lastIndexOf('\n', start - 2) + 1;
    if (start === 0 || !/^(?:\s*|#.*)$/s.test(yaml.slice(line, start).trimEnd())) return start;
    start = line;
  }
}

/** The changed text, in which every unchanged field has exactly its previous text. */
export function withUnchanged(before: string, after: string): string {
  const [old, now] = [partsOf(before), partsOf(after)];
  if (old === null || now === null) return after;
  const old_parts = new Map(old.parts.map((part) => [part.name, part]));
  const texts = now.parts.map((part) => {
    const was = old_parts.get(part.name);
    return was !== undefined && was.value === part.value ? was.text : part.text;
  });
  return [old.head, ...texts].map((text) => (text === '' || text.endsWith('\n') ? text : `${text}\n`)).join('');
}
