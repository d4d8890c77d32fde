import type { Kind } from '#ui/src/kernel/metrics.ts';
import { plural } from '#ui/src/kernel/words.ts';

export const KINDS_WORDS = { tool: 'Tools', resource: 'Resources', prompt: 'Prompts' } as const satisfies Record<Kind, string>;

export const WORDS = {
  title: 'Flow',
  lead: 'What belongs to which database, and how often it was called in the last 24 hours.',
  view: 'View',
  graph: 'Graph',
  list: 'List',
  search: 'Find by name, tag or address',
  kinds: 'Show',
  every_connection: 'All connections',
  connection: 'Connection',
  zoom_in: 'Nearer',
  zoom_out: 'Farther',
  fit: 'Show everything',
  minimap: 'Overview map',
  canvas: (connections: number, entities: number) =>
    `Graph of ${plural(connections, 'connection')} and ${plural(entities, 'entry', 'entries')}. The list has the same as links.`,
  canvas_help: 'Arrow keys move the picture, plus and minus zoom, 0 shows everything.',
  calls: (count: string) => `${count} calls`,
  errors: (count: string) => `${count} failed`,
  off: 'off',
  writes: 'writes',
  free_prompts: 'Prompts of no connection',
  empty: 'Nothing is configured yet',
  empty_text: 'Connect a database and make a tool from one of its tables: both appear here.',
  connect: 'Connect a database',
  nothing: 'Nothing of this name',
  nothing_text: 'Change the search or show more kinds.',
  group: (kind: string, count: number) => `${kind} · ${count}`,
  no_calls: 'not called',
} as const;
