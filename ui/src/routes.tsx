import { type Component, lazy } from 'solid-js';
import type { IconName } from './components/icon.tsx';
import type { Audience } from './kernel/session.ts';

/** The first has no heading: it is where one begins. */
export const NAV_GROUPS = ['', 'Build', 'Run', 'Observe', 'Access', 'System'] as const;

interface RouteEntry {
  /** `/tools/:id`; the first that matches is taken, so fixed words stand before variables. */
  readonly path: string;
  readonly title: string;
  readonly audience: Audience;
  /** Stands in the navigation when given. */
  readonly nav?: { readonly group: (typeof NAV_GROUPS)[number]; readonly icon: IconName };
  readonly load: () => Promise<Component>;
}

const entries: readonly RouteEntry[] = [
  // Build
  {
    path: '/connections',
    title: 'Connections',
    audience: 'member',
    nav: { group: 'Build', icon: 'database' },
    load: async () => (await import('./pages/connections/connections.tsx')).Connections,
  },
  {
    path: '/connections/new',
    title: 'Connect a database',
    audience: 'member',
    load: async () => (await import('./pages/connections/new-connection.tsx')).NewConnection,
  },
  {
    path: '/connections/:id',
    title: 'Connection',
    audience: 'member',
    load: async () => (await import('./pages/connections/connection.tsx')).ConnectionPage,
  },
  {
    path: '/tools',
    title: 'Tools',
    audience: 'member',
    nav: { group: 'Build', icon: 'tool' },
    load: async () => (await import('./pages/tools/tools.tsx')).Tools,
  },
  {
    path: '/tools/new',
    title: 'New tool',
    audience: 'member',
    load: async () => (await import('./pages/tools/new-tool.tsx')).NewTool,
  },
  {
    path: '/tools/:id',
    title: 'Tool',
    audience: 'member',
    load: async () => (await import('./pages/tools/tool-page.tsx')).ToolPage,
  },
  {
    path: '/resources',
    title: 'Resources',
    audience: 'member',
    nav: { group: 'Build', icon: 'file' },
    load: async () => (await import('./pages/resources/resources.tsx')).Resources,
  },
  {
    path: '/resources/new',
    title: 'New resource',
    audience: 'member',
    load: async () => (await import('./pages/resources/new-resource.tsx')).NewResource,
  },
  {
    path: '/resources/:id',
    title: 'Resource',
    audience: 'member',
    load: async () => (await import('./pages/resources/resource-page.tsx')).ResourcePage,
  },
  {
    path: '/prompts',
    title: 'Prompts',
    audience: 'member',
    nav: { group: 'Build', icon: 'message' },
    load: async () => (await import('./pages/prompts/prompts.tsx')).Prompts,
  },
  {
    path: '/prompts/new',
    title: 'New prompt',
    audience: 'member',
    load: async () => (await import('./pages/prompts/new-prompt.tsx')).NewPrompt,
  },
  {
    path: '/prompts/:id',
    title: 'Prompt',
    audience: 'member',
    load: async () => (await import('./pages/prompts/prompt-page.tsx')).PromptPage,
  },
  {
    path: '/flow',
    title: 'Flow',
    audience: 'member',
    nav: { group: 'Build', icon: 'flow' },
    load: async () => (await import('./pages/flow/flow.tsx')).Flow,
  },
  // Run
  {
    path: '/',
    title: 'Overview',
    audience: 'member',
    nav: { group: '', icon: 'gauge' },
    load: async () => (await import('./pages/overview/overview.tsx')).Overview,
  },
  {
    path: '/deploy',
    title: 'Deploy',
    audience: 'member',
    nav: { group: 'Run', icon: 'rocket' },
    load: async () => (await import('./pages/deploy/deploy.tsx')).Deploy,
  },
  {
    path: '/playground',
    title: 'Playground',
    audience: 'member',
    nav: { group: 'Run', icon: 'play' },
    load: async () => (await import('./pages/playground/playground.tsx')).Playground,
  },
  // Observe
  {
    path: '/metrics',
    title: 'Metrics',
    audience: 'member',
    nav: { group: 'Observe', icon: 'chart' },
    load: async () => (await import('./pages/metrics/metrics.tsx')).Metrics,
  },
  {
    path: '/logs',
    title: 'Logs',
    audience: 'member',
    nav: { group: 'Observe', icon: 'list' },
    load: async () => (await import('./pages/logs/logs.tsx')).Logs,
  },
  {
    path: '/queue',
    title: 'Queue',
    audience: 'member',
    nav: { group: 'Observe', icon: 'queue' },
    load: async () => (await import('./pages/queue/queue.tsx')).Queue,
  },
  {
    path: '/history',
    title: 'History',
    audience: 'member',
    nav: { group: 'Observe', icon: 'history' },
    load: async () => (await import('./pages/history/history.tsx')).History,
  },
  // Access
  {
    path: '/access',
    title: 'MCP access',
    audience: 'member',
    nav: { group: 'Access', icon: 'link' },
    load: async () => (await import('./pages/access/access.tsx')).Access,
  },
  {
    path: '/agents',
    title: 'Agent access',
    audience: 'member',
    nav: { group: 'Access', icon: 'bot' },
    load: async () => (await import('./pages/agents/agents.tsx')).Agents,
  },
  // System
  {
    path: '/transfer',
    title: 'Import/Export',
    audience: 'member',
    nav: { group: 'System', icon: 'swap' },
    load: async () => (await import('./pages/transfer/transfer.tsx')).Transfer,
  },
  {
    path: '/settings',
    title: 'Settings',
    audience: 'member',
    nav: { group: 'System', icon: 'sliders' },
    load: async () => (await import('./pages/settings/settings.tsx')).Settings,
  },
  {
    path: '/settings/:part',
    title: 'Settings',
    audience: 'member',
    load: async () => (await import('./pages/settings/settings.tsx')).Settings,
  },
  {
    path: '/account',
    title: 'Account',
    audience: 'member',
    load: async () => (await import('./pages/account/account.tsx')).Account,
  },
  {
    path: '/welcome',
    title: 'First steps',
    audience: 'member',
    load: async () => (await import('./pages/welcome/welcome.tsx')).Welcome,
  },
  // Before signing in
  {
    path: '/setup',
    title: 'First administrator',
    audience: 'setup',
    load: async () => (await import('./pages/setup/setup.tsx')).Setup,
  },
  {
    path: '/login',
    title: 'Sign in',
    audience: 'login',
    load: async () => (await import('./pages/login/login.tsx')).Login,
  },
];

export interface Route extends RouteEntry {
  readonly page: Component & { preload: () => Promise<unknown> };
}

export const routes: readonly Route[] = entries.map((entry) => ({
  ...entry,
  page: lazy(async () => ({ default: await entry.load() })),
}));
