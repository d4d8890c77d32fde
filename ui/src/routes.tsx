import { type Component, lazy } from 'solid-js';
import type { IconName } from './components/icon.tsx';
import type { Role } from '#core/contract/identity/roles.ts';
import type { Audience } from './kernel/session.ts';

/** The first has no heading: it is where one begins. */
export const NAV_GROUPS = ['', 'Build', 'Run', 'Observe', 'Access', 'System'] as const;

interface RouteEntry {
  /** `/tools/:id`; the first that matches is taken, so fixed words stand before variables. */
  readonly path: string;
  readonly title: string;
  /** Who may see it; absent: members. */
  readonly audience?: Audience;
  /** The least role that sees it; without it the page is for administrators. */
  readonly least?: Role;
  /** Stands in the navigation when given. */
  readonly nav?: { readonly group: (typeof NAV_GROUPS)[number]; readonly icon: IconName };
  readonly load: () => Promise<Component>;
}

const entries: readonly RouteEntry[] = [
  // Build
  {
    path: '/connections',
    title: 'Connections',
    least: 'viewer',
    nav: { group: 'Build', icon: 'database' },
    load: async () => (await import('./pages/connections/connections.tsx')).Connections,
  },
  {
    path: '/connections/new',
    title: 'Connect a database',
    least: 'editor',
    load: async () => (await import('./pages/connections/new-connection.tsx')).NewConnection,
  },
  {
    path: '/connections/:id',
    title: 'Connection',
    least: 'viewer',
    load: async () => (await import('./pages/connections/connection.tsx')).ConnectionPage,
  },
  {
    path: '/tools',
    title: 'Tools',
    least: 'viewer',
    nav: { group: 'Build', icon: 'tool' },
    load: async () => (await import('./pages/tools/tools.tsx')).Tools,
  },
  {
    path: '/tools/new',
    title: 'New tool',
    least: 'editor',
    load: async () => (await import('./pages/tools/new-tool.tsx')).NewTool,
  },
  {
    path: '/tools/:id',
    title: 'Tool',
    least: 'viewer',
    load: async () => (await import('./pages/tools/tool-page.tsx')).ToolPage,
  },
  {
    path: '/resources',
    title: 'Resources',
    least: 'viewer',
    nav: { group: 'Build', icon: 'file' },
    load: async () => (await import('./pages/resources/resources.tsx')).Resources,
  },
  {
    path: '/resources/new',
    title: 'New resource',
    least: 'editor',
    load: async () => (await import('./pages/resources/new-resource.tsx')).NewResource,
  },
  {
    path: '/resources/:id',
    title: 'Resource',
    least: 'viewer',
    load: async () => (await import('./pages/resources/resource-page.tsx')).ResourcePage,
  },
  {
    path: '/prompts',
    title: 'Prompts',
    least: 'viewer',
    nav: { group: 'Build', icon: 'message' },
    load: async () => (await import('./pages/prompts/prompts.tsx')).Prompts,
  },
  {
    path: '/prompts/new',
    title: 'New prompt',
    least: 'editor',
    load: async () => (await import('./pages/prompts/new-prompt.tsx')).NewPrompt,
  },
  {
    path: '/prompts/:id',
    title: 'Prompt',
    least: 'viewer',
    load: async () => (await import('./pages/prompts/prompt-page.tsx')).PromptPage,
  },
  {
    path: '/toolsets',
    title: 'Toolsets',
    least: 'viewer',
    nav: { group: 'Build', icon: 'filter' },
    load: async () => (await import('./pages/toolsets/toolsets.tsx')).Toolsets,
  },
  {
    path: '/toolsets/new',
    title: 'New toolset',
    least: 'editor',
    load: async () => (await import('./pages/toolsets/new-toolset.tsx')).NewToolset,
  },
  {
    path: '/toolsets/:id',
    title: 'Toolset',
    least: 'viewer',
    load: async () => (await import('./pages/toolsets/toolset-page.tsx')).ToolsetPage,
  },
  {
    path: '/tests',
    title: 'Tests',
    least: 'viewer',
    nav: { group: 'Build', icon: 'check' },
    load: async () => (await import('./pages/tests/tests.tsx')).Tests,
  },
  {
    path: '/flow',
    title: 'Flow',
    least: 'viewer',
    nav: { group: 'Build', icon: 'flow' },
    load: async () => (await import('./pages/flow/flow.tsx')).Flow,
  },
  // Run
  {
    path: '/',
    title: 'Overview',
    least: 'viewer',
    nav: { group: '', icon: 'gauge' },
    load: async () => (await import('./pages/overview/overview.tsx')).Overview,
  },
  {
    path: '/deploy',
    title: 'Deploy',
    least: 'viewer',
    nav: { group: 'Run', icon: 'rocket' },
    load: async () => (await import('./pages/deploy/deploy.tsx')).Deploy,
  },
  {
    path: '/proposals',
    title: 'Proposals',
    audience: 'member',
    least: 'viewer',
    nav: { group: 'Run', icon: 'message' },
    load: async () => (await import('./pages/proposals/proposals.tsx')).Proposals,
  },
  {
    path: '/proposals/:id',
    title: 'Proposal',
    audience: 'member',
    least: 'viewer',
    load: async () => (await import('./pages/proposals/proposal-page.tsx')).ProposalPage,
  },
  {
    path: '/playground',
    title: 'Playground',
    least: 'viewer',
    nav: { group: 'Run', icon: 'play' },
    load: async () => (await import('./pages/playground/playground.tsx')).Playground,
  },
  // Observe
  {
    path: '/metrics',
    title: 'Metrics',
    least: 'viewer',
    nav: { group: 'Observe', icon: 'chart' },
    load: async () => (await import('./pages/metrics/metrics.tsx')).Metrics,
  },
  {
    path: '/insights',
    title: 'Insights',
    least: 'viewer',
    nav: { group: 'Observe', icon: 'bolt' },
    load: async () => (await import('./pages/insights/insights.tsx')).Insights,
  },
  {
    path: '/logs',
    title: 'Logs',
    least: 'viewer',
    nav: { group: 'Observe', icon: 'list' },
    load: async () => (await import('./pages/logs/logs.tsx')).Logs,
  },
  {
    path: '/queue',
    title: 'Queue',
    least: 'viewer',
    nav: { group: 'Observe', icon: 'queue' },
    load: async () => (await import('./pages/queue/queue.tsx')).Queue,
  },
  {
    path: '/history',
    title: 'History',
    least: 'viewer',
    nav: { group: 'Observe', icon: 'history' },
    load: async () => (await import('./pages/history/history.tsx')).History,
  },
  // Access
  {
    path: '/access',
    title: 'MCP access',
    nav: { group: 'Access', icon: 'link' },
    load: async () => (await import('./pages/access/access.tsx')).Access,
  },
  {
    path: '/people',
    title: 'People',
    least: 'admin',
    nav: { group: 'Access', icon: 'user' },
    load: async () => (await import('./pages/people/people.tsx')).People,
  },
  {
    path: '/agents',
    title: 'Agent access',
    nav: { group: 'Access', icon: 'bot' },
    load: async () => (await import('./pages/agents/agents.tsx')).Agents,
  },
  {
    path: '/sign-in',
    title: 'Sign-in',
    nav: { group: 'Access', icon: 'key' },
    load: async () => (await import('./pages/sign-ins/sign-ins.tsx')).SignIns,
  },
  // System
  {
    path: '/transfer',
    title: 'Import and export',
    least: 'editor',
    nav: { group: 'System', icon: 'swap' },
    load: async () => (await import('./pages/transfer/transfer.tsx')).Transfer,
  },
  {
    path: '/settings',
    title: 'Settings',
    nav: { group: 'System', icon: 'sliders' },
    load: async () => (await import('./pages/settings/settings.tsx')).Settings,
  },
  {
    path: '/settings/:part',
    title: 'Settings',
    load: async () => (await import('./pages/settings/settings.tsx')).Settings,
  },
  {
    path: '/account',
    title: 'Account',
    least: 'caller',
    load: async () => (await import('./pages/account/account.tsx')).Account,
  },
  {
    path: '/welcome',
    title: 'First steps',
    load: async () => (await import('./pages/welcome/welcome.tsx')).Welcome,
  },
  // Before signing in
  {
    path: '/setup',
    title: 'First account',
    audience: 'setup',
    load: async () => (await import('./pages/setup/setup.tsx')).Setup,
  },
  {
    path: '/invite',
    title: 'Accept the invitation',
    audience: 'invited',
    load: async () => (await import('./pages/invite/invite.tsx')).Invite,
  },
  {
    path: '/oauth/consent',
    title: 'Allow a client',
    audience: 'anyone',
    load: async () => (await import('./pages/consent/consent.tsx')).Consent,
  },
  {
    path: '/confirm',
    title: 'Confirm a change',
    audience: 'anyone',
    load: async () => (await import('./pages/confirm/confirm.tsx')).Confirm,
  },
  {
    path: '/login',
    title: 'Sign in',
    audience: 'login',
    load: async () => (await import('./pages/login/login.tsx')).Login,
  },
];

export interface Route extends RouteEntry {
  readonly audience: Audience;
  readonly page: Component;
  /** Loads the code of the page ahead; what fails is loaded again when the page is opened. */
  readonly preload: () => void;
}

export const routes: readonly Route[] = entries.map((entry) => ({
  audience: 'member',
  ...entry,
  page: lazy(async () => ({ default: await entry.load() })),
  preload: () => void entry.load().catch(() => undefined),
}));
