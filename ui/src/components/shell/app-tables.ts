import type { OperationName } from '#core/contract/index.ts';
import type { IconName } from '../icon.tsx';

/** One page of an entry; a tab where the entry has several. */
export interface NavPage {
  /** The address, with the view where one page has several. */
  readonly href: string;
  readonly label: string;
  /** Its key after `g`. */
  readonly letter?: string;
  /** Hidden from people whose role does not allow this. */
  readonly needs?: OperationName;
  /** Hidden until there is one of these. */
  readonly of?: 'tests';
}

export interface NavEntry {
  readonly label: string;
  readonly icon: IconName;
  readonly pages: readonly NavPage[];
}

/** The navigation: what appears, where, and for whom. The role that a page requires stands with its route. */
export const NAV: readonly NavEntry[] = [
  { label: 'Home', icon: 'gauge', pages: [{ href: '/', label: 'Home', letter: 'o' }] },
  {
    label: 'Databases',
    icon: 'database',
    pages: [
      { href: '/connections', label: 'Databases', letter: 'c' },
      { href: '/queue', label: 'Queues', letter: 'q' },
    ],
  },
  {
    label: 'Tools',
    icon: 'tool',
    pages: [
      { href: '/tools', label: 'Tools', letter: 't' },
      { href: '/resources', label: 'Resources', letter: 'r' },
      { href: '/prompts', label: 'Prompts', letter: 'p' },
      { href: '/toolsets', label: 'Toolsets', letter: 'b' },
      { href: '/tests', label: 'Tests', letter: 'x', of: 'tests' },
    ],
  },
  { label: 'Playground', icon: 'play', pages: [{ href: '/playground', label: 'Playground', letter: 'y' }] },
  {
    label: 'Deploy',
    icon: 'rocket',
    pages: [
      { href: '/deploy', label: 'Changes', letter: 'd' },
      { href: '/proposals', label: 'Proposals', letter: 'v' },
      { href: '/deploy?view=candidates', label: 'Candidates' },
      { href: '/deploy?view=versions', label: 'Versions' },
      { href: '/deploy?view=code', label: 'Generated code', needs: 'server.generated' },
    ],
  },
  {
    label: 'Monitor',
    icon: 'chart',
    pages: [
      { href: '/flow', label: 'Live flow', letter: 'f' },
      { href: '/metrics', label: 'Metrics', letter: 'm' },
      { href: '/insights', label: 'Insights', letter: 'n' },
    ],
  },
  {
    label: 'Logs',
    icon: 'list',
    pages: [
      { href: '/logs', label: 'Calls', letter: 'l' },
      { href: '/logs?view=failures', label: 'Failures' },
      { href: '/logs?view=sessions', label: 'Sessions' },
      { href: '/logs?view=refusals', label: 'Refusals', needs: 'logs.refusals' },
      { href: '/logs?view=live', label: 'Live log', needs: 'logs.refusals' },
      { href: '/logs?view=audit', label: 'Audit', needs: 'audit.list' },
      { href: '/history', label: 'History', letter: 'h' },
    ],
  },
  {
    label: 'Connect',
    icon: 'link',
    pages: [
      { href: '/access', label: 'Clients', letter: 'a' },
      { href: '/sign-in', label: 'Sign-ins', letter: 'k' },
      { href: '/agents', label: 'Agents', letter: 'g' },
    ],
  },
  {
    label: 'Settings',
    icon: 'sliders',
    pages: [
      { href: '/settings', label: 'General', letter: 's' },
      { href: '/settings/auth', label: 'Security' },
      { href: '/people', label: 'People', letter: 'e' },
      { href: '/settings/sign_in', label: 'Providers' },
      { href: '/settings/tls', label: 'HTTPS' },
      { href: '/settings/guard', label: 'Prompt guard' },
      { href: '/settings/checks', label: 'Checks' },
      { href: '/settings/webhooks', label: 'Notices' },
      { href: '/settings/audit', label: 'Audit log' },
      { href: '/settings/variables', label: 'Variables' },
      { href: '/transfer', label: 'Import and export', letter: 'i' },
      { href: '/settings/api', label: 'API' },
    ],
  },
];

/** The page of the person, below the navigation. */
export const ACCOUNT: NavPage = { href: '/account', label: 'Account', letter: 'u' };

const addressOf = (href: string) => new URL(href, 'http://localhost');

/** The page at an address: one with the same view comes before the page itself. */
export function pageAt({ pages }: NavEntry, path: string, query: URLSearchParams): NavPage | undefined {
  const at = pages.filter(({ href }) => addressOf(href).pathname === path);
  const view = query.get('view');
  return at.find(({ href }) => addressOf(href).searchParams.get('view') === view) ?? at[0];
}

/** The name of a view that shares its page with others; undefined: the page has no views, or this is its first. */
export const viewNameAt = (path: string, query: URLSearchParams): string | undefined =>
  query.has('view')
    ? NAV.flatMap(({ pages }) => pages).find(({ href }) => {
        const { pathname, searchParams } = addressOf(href);
        return pathname === path && searchParams.get('view') === query.get('view');
      })?.label
    : undefined;

/** Whether an address is a page of the entry, or of one thing that such a page lists. */
export const isWithin = ({ pages }: NavEntry, path: string): boolean =>
  pages.some(({ href }) => {
    const { pathname } = addressOf(href);
    return path === pathname || (pathname !== '/' && path.startsWith(`${pathname}/`));
  });

/** What is created from anywhere, and where. */
export const CREATIONS = [
  ['Create tool', '/tools/new'],
  ['Create resource', '/resources/new'],
  ['Create prompt', '/prompts/new'],
  ['Create toolset', '/toolsets/new'],
  ['New connection', '/connections/new'],
  ['New access token for MCP clients', '/access?ask=token'],
  ['Invite person', '/people?ask=invite'],
] as const;
