import { onCleanup } from 'solid-js';
import { useCommands, useKernel } from '#ui/src/kernel/kernel.ts';
import { CREATIONS, type NavPage } from './app-tables.ts';
import { THEME_WORD } from './shell.tsx';

/** Pages that have these commands without a navigation. */
const ASKING_PAGES: ReadonlySet<string> = new Set(['/', '/deploy']);
const ACTIONS = [
  {
    id: 'ask-deploy',
    title: 'Deploy…',
    group: 'Server',
    key: 'd',
    keywords: 'publish release go live',
    needs: 'deploy.run',
    to: '/deploy?ask=deploy',
  },
  { id: 'ask-stop', title: 'Stop serving MCP clients…', group: 'Server', needs: 'deploy.stop', to: '/deploy?ask=stop' },
  {
    id: 'versions',
    title: 'Restore an earlier version',
    group: 'Server',
    needs: 'snapshots.activate',
    keywords: 'roll back rollback',
    to: '/deploy?view=versions',
  },
  {
    id: 'changes',
    title: 'Roll back a change',
    group: 'Server',
    needs: 'history.rollback',
    keywords: 'undo history restore rollback',
    to: '/history',
  },
] as const;

/** Maximum number of records per kind; more specific text narrows the search. */
const MOST_FOUND = 6;

/** Commands available on every page, and the record search of the palette. */
export function AppCommands(open: {
  pages: readonly NavPage[];
  find: () => void;
  shortcuts: () => void;
  mayOpen: (href: string) => boolean;
}): null {
  const { cache, call, session, router, theme, toasts, commands } = useKernel();
  const signedIn = () => session.state() === 'signed_in';
  const logout = async () => {
    if (!(await router.mayLeave())) return;
    const problem = await session.logout();
    if (problem === undefined) return;
    toasts.show(problem.detail, 'bad');
    cache.invalidate();
  };
  useCommands([
    {
      id: 'theme',
      title: 'Switch theme',
      group: 'Interface',
      key: 't',
      keywords: 'system light dark colour scheme mode',
      run: () => toasts.show(`Theme: ${THEME_WORD[theme.next()]}`),
    },
    { id: 'commands', title: 'Search pages, records and commands', group: 'Interface', run: () => open.find() },
    {
      id: 'shortcuts',
      title: 'Keyboard shortcuts',
      group: 'Interface',
      key: '?',
      keywords: 'help keys',
      run: () => open.shortcuts(),
    },
    ...ACTIONS.map(({ id, title, group, to, ...more }) => ({
      ...more,
      id,
      title,
      group,
      enabled: () => signedIn() && !ASKING_PAGES.has(router.path()),
      run: () => router.navigate(to),
    })),
    ...CREATIONS.map(([title, to]) => ({
      id: `new:${to}`,
      title,
      group: 'Create' as const,
      keywords: 'new add create',
      // The page that handles `?ask=` registers the command.
      enabled: () => signedIn() && open.mayOpen(to) && !to.startsWith(`${router.path()}?`),
      run: () => router.navigate(to),
    })),
    ...open.pages.map(({ href, label, letter, needs }) => ({
      id: `go:${href}`,
      title: label,
      group: 'Go to' as const,
      ...(letter !== undefined && { key: `g ${letter}` }),
      ...(needs !== undefined && { needs }),
      enabled: () => signedIn() && open.mayOpen(href),
      run: () => router.navigate(href),
    })),
    {
      id: 'docs',
      title: 'REST API explorer',
      group: 'Go to',
      needs: 'tools.list',
      run: () => window.location.assign('/api/docs'),
    },
    {
      id: 'redoc',
      title: 'API reference',
      group: 'Go to',
      needs: 'tools.list',
      run: () => window.location.assign('/api/redoc'),
    },
    {
      id: 'logout',
      title: 'Sign out',
      group: 'Account',
      keywords: 'log out leave',
      enabled: signedIn,
      run: () => void logout(),
    },
  ]);

  const nouns = [
    { group: 'Tools', path: '/tools', list: 'tools.list' },
    { group: 'Resources', path: '/resources', list: 'resources.list' },
    { group: 'Prompts', path: '/prompts', list: 'prompts.list' },
    { group: 'Connections', path: '/connections', list: 'connections.list' },
  ] as const;
  for (const { group, path, list } of nouns) {
    onCleanup(
      commands.provide(group, async (query, signal) => {
        if (!signedIn() || !session.may(list)) return [];
        const { items } = await call(list, { search: query, limit: MOST_FOUND }, signal);
        return items.map((item) => ({
          title: item.name,
          hint: 'description' in item ? item.description : item.db_type,
          run: () => router.navigate(`${path}/${item.id}`),
        }));
      }),
    );
  }
  return null;
}
