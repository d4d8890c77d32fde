import type { ImportFault } from '#core/contract/transfer.ts';
import { plural } from '#ui/src/kernel/words.ts';

export const WORDS = {
  errors_title: (count: number) => `${plural(count, 'error')} in the file`,
  applied: (count: number) => `Imported ${plural(count, 'record')}. They are live with the next deploy.`,
} as const;

export const NOUN_WORDS = {
  connections: 'Connections',
  tools: 'Tools',
  resources: 'Resources',
  prompts: 'Prompts',
  toolsets: 'Toolsets',
  tests: 'Tests',
  server_config: 'Server settings',
} as const;

export const ONE: Readonly<Record<ImportFault['entity_type'], string>> = {
  connection: 'connection',
  tool: 'tool',
  resource: 'resource',
  prompt: 'prompt',
  toolset: 'toolset',
  test: 'test',
  server_config: 'server settings',
};
