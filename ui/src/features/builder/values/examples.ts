import type { Parameter } from '#core/contract/definitions/parameters.ts';
import { parseEntry } from '#ui/src/features/run/arguments.ts';

type Typed = Pick<Parameter, 'type' | 'items'>;

/** One example per line. A line that is no value of the type stays the text that it is. */
export function parseExamples(text: string, parameter: Typed): { readonly value: readonly unknown[]; readonly fault?: string } {
  const values: unknown[] = [];
  let fault: string | undefined;
  for (const [index, line] of text.split('\n').entries()) {
    if (line.trim() === '') continue;
    const parsed = parseEntry(line.trim(), parameter.type === 'array' ? { type: 'json' } : parameter);
    if ('fault' in parsed) fault ??= `Line ${index + 1}: ${parameter.type === 'array' ? 'Enter a JSON list.' : parsed.fault}`;
    values.push('fault' in parsed ? line.trim() : parsed.value);
  }
  return fault === undefined ? { value: values } : { value: values, fault };
}

/** The examples as they are typed. */
export const writeExamples = (examples: readonly unknown[], { type }: Typed): string =>
  examples.map((example) => (typeof example === 'string' && type !== 'json' ? example : JSON.stringify(example))).join('\n');
