import type { Kind } from '#ui/src/kernel/metrics.ts';
import { plural } from '#ui/src/kernel/words.ts';

export const KINDS_WORDS = { tool: 'Tools', resource: 'Resources', prompt: 'Prompts' } as const satisfies Record<Kind, string>;

export const WORDS = {
  title: 'Flow',
  zoom_in: 'Zoom in',
  zoom_out: 'Zoom out',
  fit: 'Fit to view',
  expand: 'Expand all groups',
  collapse: 'Collapse all groups',
  minimap: 'Overview map',
  canvas: (connections: number, entities: number) =>
    `Graph of ${plural(connections, 'connection')} and ${plural(entities, 'entry', 'entries')}. The list has the same as links.`,
  canvas_help: 'Arrow keys pan, plus and minus zoom, 0 fits everything into view.',
  group: (kind: string, count: number) => `${kind} · ${count}`,
} as const;
