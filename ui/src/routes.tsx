import { type Component, createComponent, lazy } from 'solid-js';
import type { Role } from '#core/contract/roles.ts';
import { loadCode } from './kernel/data/load-code.ts';
import type { Audience } from './kernel/session.ts';

export interface Route {
  /** `/tools/:id`; the first that matches is taken, so fixed words stand before variables. */
  readonly path: string;
  readonly title: string;
  readonly audience: Audience;
  /** The least role of a member that sees it. */
  readonly least: Role;
  readonly page: Component;
  /** Loads the code of the page ahead; what fails is loaded again when the page is opened. */
  readonly preload: () => void;
}

/** A page, as the export `name` of what `load` imports. */
const by =
  (audience: Audience, least: Role = 'admin') =>
  <K extends string>(path: string, title: string, load: () => Promise<Record<K, Component>>, name: K): Route => ({
    path,
    title,
    audience,
    least,
    page: reloaded(async () => ({ default: (await loadCode(load))[name] })),
    preload: () => void load().catch(() => undefined),
  });

/** As `lazy`, which keeps what failed: here it is loaded anew when the page is opened again. */
function reloaded(load: () => Promise<{ default: Component }>): Component {
  let Page = lazy(attempt);
  async function attempt() {
    try {
      return await load();
    } catch (fault) {
      Page = lazy(attempt);
      throw fault;
    }
  }
  return () => createComponent(Page, {});
}

const viewer = by('member', 'viewer');
const editor = by('member', 'editor');
const admin = by('member', 'admin');

export const routes: readonly Route[] = [
  // Build
  viewer('/connections', 'Databases', () => import('./pages/connections/connections.tsx'), 'Connections'),
  editor('/connections/new', 'Connect a database', () => import('./pages/connections/new-connection.tsx'), 'NewConnection'),
  viewer('/connections/:id', 'Connection', () => import('./pages/connections/connection.tsx'), 'ConnectionPage'),
  viewer('/tools', 'Tools', () => import('./pages/tools/tools.tsx'), 'Tools'),
  editor('/tools/new', 'New tool', () => import('./pages/tools/new-tool.tsx'), 'NewTool'),
  viewer('/tools/:id', 'Tool', () => import('./pages/tools/tool-page.tsx'), 'ToolPage'),
  viewer('/resources', 'Resources', () => import('./pages/resources/resources.tsx'), 'Resources'),
  editor('/resources/new', 'New resource', () => import('./pages/resources/new-resource.tsx'), 'NewResource'),
  viewer('/resources/:id', 'Resource', () => import('./pages/resources/resource-page.tsx'), 'ResourcePage'),
  viewer('/prompts', 'Prompts', () => import('./pages/prompts/prompts.tsx'), 'Prompts'),
  editor('/prompts/new', 'New prompt', () => import('./pages/prompts/new-prompt.tsx'), 'NewPrompt'),
  viewer('/prompts/:id', 'Prompt', () => import('./pages/prompts/prompt-page.tsx'), 'PromptPage'),
  viewer('/toolsets', 'Toolsets', () => import('./pages/toolsets/toolsets.tsx'), 'Toolsets'),
  editor('/toolsets/new', 'New toolset', () => import('./pages/toolsets/new-toolset.tsx'), 'NewToolset'),
  viewer('/toolsets/:id', 'Toolset', () => import('./pages/toolsets/toolset-page.tsx'), 'ToolsetPage'),
  viewer('/tests', 'Tests', () => import('./pages/tests/tests.tsx'), 'Tests'),
  viewer('/flow', 'Live flow', () => import('./pages/flow/flow.tsx'), 'Flow'),
  // Run
  viewer('/', 'Home', () => import('./pages/home/home.tsx'), 'Home'),
  // For whom the one before is not open.
  by('member', 'caller')('/', 'Home', () => import('./pages/caller-home/caller-home.tsx'), 'CallerHome'),
  viewer('/deploy', 'Deploy', () => import('./pages/deploy/deploy.tsx'), 'Deploy'),
  viewer('/proposals', 'Proposals', () => import('./pages/proposals/proposals.tsx'), 'Proposals'),
  viewer('/proposals/:id', 'Proposal', () => import('./pages/proposals/proposal-page.tsx'), 'ProposalPage'),
  viewer('/playground', 'Playground', () => import('./pages/playground/playground.tsx'), 'Playground'),
  // Observe
  viewer('/metrics', 'Metrics', () => import('./pages/metrics/metrics.tsx'), 'Metrics'),
  viewer('/insights', 'Insights', () => import('./pages/insights/insights.tsx'), 'Insights'),
  viewer('/logs', 'Logs', () => import('./pages/logs/logs.tsx'), 'Logs'),
  viewer('/queue', 'Queues', () => import('./pages/queue/queue.tsx'), 'Queue'),
  viewer('/history', 'History', () => import('./pages/history/history.tsx'), 'History'),
  // Access
  admin('/access', 'Connect', () => import('./pages/access/access.tsx'), 'Access'),
  admin('/people', 'People', () => import('./pages/people/people.tsx'), 'People'),
  admin('/agents', 'Agents', () => import('./pages/agents/agents.tsx'), 'Agents'),
  admin('/sign-in', 'Sign-ins', () => import('./pages/sign-ins/sign-ins.tsx'), 'SignIns'),
  // System
  editor('/transfer', 'Import and export', () => import('./pages/transfer/transfer.tsx'), 'Transfer'),
  viewer('/settings/api', 'API', () => import('./pages/settings/api.tsx'), 'Api'),
  admin('/settings', 'Settings', () => import('./pages/settings/settings.tsx'), 'Settings'),
  admin('/settings/:part', 'Settings', () => import('./pages/settings/settings.tsx'), 'Settings'),
  by('member', 'caller')('/account', 'Account', () => import('./pages/account/account.tsx'), 'Account'),
  admin('/welcome', 'First steps', () => import('./pages/welcome/welcome.tsx'), 'Welcome'),
  // Before signing in
  by('setup')('/setup', 'First account', () => import('./pages/setup/setup.tsx'), 'Setup'),
  by('invited')('/invite', 'Accept the invitation', () => import('./pages/invite/invite.tsx'), 'Invite'),
  by('anyone')('/oauth/consent', 'Allow a client', () => import('./pages/consent/consent.tsx'), 'Consent'),
  by('anyone')('/confirm', 'Confirm a change', () => import('./pages/confirm/confirm.tsx'), 'Confirm'),
  by('login')('/login', 'Sign in', () => import('./pages/login/login.tsx'), 'Login'),
];
