import type { IconName } from '#ui/src/components/icon.tsx';
import { ENTITY_TYPE, type EntityNoun } from './bulk.ts';

/** What the lists and pages of definitions say of each kind. */
export const ENTITY_WORDS: Readonly<
  Record<EntityNoun, { readonly title: string; readonly icon: IconName; readonly lead: string; readonly empty_lead: string }>
> = {
  tools: {
    title: 'Tools',
    icon: 'tool',
    lead: 'SQL statements that agents call by name, with typed arguments. Toolsets decide who sees which.',
    empty_lead: 'Write a statement and name it, and agents can call it. The quickest start is a table of a connection.',
  },
  resources: {
    title: 'Resources',
    icon: 'file',
    lead: 'Data that clients read by address, fixed or with variables.',
    empty_lead:
      'A resource is a statement behind an address, such as shop://orders/{id}. Clients list and read it without a model.',
  },
  prompts: {
    title: 'Prompts',
    icon: 'message',
    lead: 'Messages with arguments that people pick in their MCP client.',
    empty_lead: 'A prompt is a text with arguments that a person chooses in a client, such as a slash command.',
  },
};

/** Where a served definition is called by hand. */
export const playgroundOf = (noun: EntityNoun, { name }: { readonly name: string }): string =>
  `/playground?${ENTITY_TYPE[noun]}=${encodeURIComponent(name)}`;
