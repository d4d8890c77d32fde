import { beginning } from '#core/lib/text/shorten.ts';
import type { Registry } from './registry.ts';

/** Clients cut longer instructions. */
const LONGEST = 2_048;
/** Most characters of names; the rest is for the sentences around them. */
const NAMES = 400;

const texts = new WeakMap<Registry, string | null>();

/** The default instructions for a model: the available data, and how results end. Null: there are no definitions. */
export function introductionOf(registry: Registry): string | null {
  const known = texts.get(registry);
  if (known !== undefined) return known;
  const text = introduce(registry);
  texts.set(registry, text);
  return text;
}

function introduce({ server, tools, resources, templates, prompts }: Registry): string | null {
  const topics = [
    ...[...tools.values()].map(({ entity }) => topicOf(entity)),
    ...[...resources.values(), ...templates].map(({ entity }) => topicOf(entity)),
  ];
  if (topics.length === 0 && prompts.size === 0) return null;
  const writing = [...tools.values()].filter(({ entity }) => entity.mode === 'write').map(({ entity }) => entity.name);
  const sentences = [
    topics.length === 0
      ? `${server.server_name} has prompts for working with databases.`
      : `${server.server_name} has current data from databases. Look here for: ${listOf(topics, NAMES)}.`,
    ...(writing.length === 0 ? [] : [`Tools that change data: ${listOf(writing, NAMES / 2)}.`]),
    ...(tools.size === 0 ? [] : ['A result with truncated true is not complete: ask for less.']),
  ];
  return beginning(sentences.join(' '), LONGEST);
}

interface Named {
  readonly name: string;
  readonly listing: Readonly<Record<string, unknown>>;
}
/** The title, or the name with spaces between its words. */
const topicOf = ({ name, listing }: Named): string =>
  typeof listing['title'] === 'string' ? listing['title'] : name.replaceAll(/[_-]+/g, ' ');

/** As many names as there is room for, and the number of the others. */
function listOf(names: readonly string[], room: number): string {
  const all = [...new Set(names)];
  let length = 0;
  const fits = all.filter((name) => (length += name.length + 2) <= room);
  const rest = all.length - fits.length;
  return rest === 0 ? fits.join(', ') : `${fits.join(', ')} and ${rest} more`;
}
