import { onCleanup } from 'solid-js';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { type NavEntry, THEME_WORD } from './shell.tsx';

/** Of each kind; who wants more types more. */
const MOST_FOUND = 6;

/** The commands that are there on every page, and the records that the palette finds. */
export function registerCommands(
  pages: readonly Pick<NavEntry, 'path' | 'label'>[],
  open: { find: () => void; shortcuts: () => void },
): void {
  const { call, session, router, theme, toasts, commands } = useKernel();
  const signedIn = () => session.state() === 'signed_in';
  const logout = async () => {
    const problem = await session.logout();
    if (problem) toasts.show(problem.detail, 'bad');
  };
  onCleanup(
    commands.register([
      {
        id: 'theme',
        title: 'Switch between system, light and dark',
        group: 'Interface',
        key: 't',
        keywords: 'theme colour scheme mode',
        run: () => toasts.show(`Theme: ${THEME_WORD[theme.next()]}`),
      },
      { id: 'commands', title: 'Find a page, a record or a command', group: 'Interface', run: open.find },
      {
        id: 'shortcuts',
        title: 'Show the keyboard shortcuts',
        group: 'Interface',
        key: '?',
        keywords: 'help keys',
        run: open.shortcuts,
      },
      ...pages.map((entry) => ({
        id: `go:${entry.path}`,
        title: entry.label,
        group: 'Go to' as const,
        enabled: signedIn,
        run: () => router.navigate(entry.path),
      })),
      { id: 'docs', title: 'Try the REST API', group: 'Go to', run: () => window.location.assign('/api/docs') },
      { id: 'redoc', title: 'API reference', group: 'Go to', run: () => window.location.assign('/api/redoc') },
      {
        id: 'logout',
        title: 'Log out',
        group: 'Account',
        keywords: 'sign out leave',
        enabled: signedIn,
        run: () => void logout(),
      },
    ]),
  );

  const nouns = [
    { group: 'Tools', path: '/tools', list: 'tools.list' },
    { group: 'Resources', path: '/resources', list: 'resources.list' },
    { group: 'Prompts', path: '/prompts', list: 'prompts.list' },
    { group: 'Connections', path: '/connections', list: 'connections.list' },
  ] as const;
  for (const { group, path, list } of nouns) {
    onCleanup(
      commands.provide(group, async (query, signal) => {
        if (!signedIn()) return [];
        const { items } = await call(list, { search: query, limit: MOST_FOUND }, signal);
        return items.map((item) => ({
          title: item.name,
          hint: 'description' in item ? item.description : item.db_type,
          run: () => router.navigate(`${path}/${item.id}`),
        }));
      }),
    );
  }
}
