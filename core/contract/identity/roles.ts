import type { Choice } from '../marks.ts';

/** No schema stands here: the first page of the interface reads it. From the least to the most: each role may do what those before it may. */
export const ROLES = ['caller', 'viewer', 'editor', 'admin', 'owner'] as const;
export type Role = (typeof ROLES)[number];

/** Whether a role is at least another one. */
export const holds = (role: Role, least: Role): boolean => ROLES.indexOf(role) >= ROLES.indexOf(least);

/** What each role may do, as people read it. */
export const ROLE_CHOICES: Readonly<Record<Role, Choice>> = {
  caller: {
    label: 'Caller',
    help: 'Signs in from MCP clients and calls tools. In Sluice itself, sees only their own account.',
  },
  viewer: {
    label: 'Viewer',
    help: 'Reads all definitions, metrics, calls and history, and calls deployed tools in the playground. Changes nothing and writes no SQL.',
  },
  editor: {
    label: 'Editor',
    help: 'Creates and changes connections, tools, resources and prompts, runs SQL, and deploys. Cannot send stored passwords to another address.',
  },
  admin: {
    label: 'Admin',
    help: 'Does everything: settings, tokens, agents, logs and people. Cannot create, change or remove owners.',
  },
  owner: { label: 'Owner', help: 'Does everything, owners included. At least one owner always remains.' },
};
