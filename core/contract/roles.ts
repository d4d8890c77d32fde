import type { Choice } from './marks.ts';

/**
 * In rising order: each role includes the rights of the previous ones. No schema here, because the first page of the UI loads
 * this file.
 */
export const ROLES = ['caller', 'viewer', 'editor', 'admin', 'owner'] as const;
export type Role = (typeof ROLES)[number];

/** Whether a role is the same as or higher than `least`. */
export const holds = (role: Role, least: Role): boolean => ROLES.indexOf(role) >= ROLES.indexOf(least);

/** The rights of each role, for people. */
export const ROLE_CHOICES: Readonly<Record<Role, Choice>> = {
  caller: {
    label: 'Caller',
    help: 'Signs in from MCP clients and calls tools. In Sluice, sees how to connect, the tools that they can call, and their account.',
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
    help: 'Full access, with settings, tokens, agents, logs and people. Cannot create, change or remove owners.',
  },
  owner: { label: 'Owner', help: 'Full access, owners included. At least one owner always remains.' },
};
