import { createEffect, createMemo, createSignal, Match, onCleanup, onMount, Show, Suspense, Switch } from 'solid-js';
import { Dynamic } from 'solid-js/web';
import { Button } from './components/button.tsx';
import { CommandDialog } from './components/command-dialog.tsx';
import { Link } from './components/link.tsx';
import { type NavEntry, Shell, THEME_WORD } from './components/shell.tsx';
import { ToastList } from './components/toast-list.tsx';
import { useKernel } from './kernel/kernel.ts';
import { matchPath } from './kernel/router.ts';
import { redirect } from './kernel/session.ts';
import { routes } from './routes.tsx';

const nav: readonly NavEntry[] = routes.flatMap(({ path, title, icon }) =>
  icon === undefined ? [] : [{ path, label: title, icon }],
);

export function App() {
  const { session, router, theme, toasts, commands } = useKernel();
  const [listed, setListed] = createSignal(false);
  const route = createMemo(() => routes.find((candidate) => matchPath(candidate.path, router.path()) !== null));
  const elsewhere = createMemo(() =>
    redirect(session.state(), route()?.audience ?? 'member', {
      path: router.path(),
      search: window.location.search,
      origin: window.location.origin,
    }),
  );
  const settled = () => session.state() !== 'loading' && session.state() !== 'unreachable' && elsewhere() === undefined;

  createEffect(() => {
    const to = elsewhere();
    if (to !== undefined) router.navigate(to, { replace: true });
  });
  createEffect(() => {
    document.title = `${route()?.title ?? 'Not found'} · Sluice`;
  });

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
        run: () => toasts.show(`Theme: ${THEME_WORD[theme.next()]}`),
      },
      { id: 'commands', title: 'Show commands and shortcuts', group: 'Interface', key: '?', run: () => setListed(true) },
      ...nav.map((entry) => ({
        id: `go:${entry.path}`,
        title: entry.label,
        group: 'Go to' as const,
        enabled: signedIn,
        run: () => router.navigate(entry.path),
      })),
      { id: 'docs', title: 'Try the REST API', group: 'Go to', run: () => window.location.assign('/api/docs') },
      { id: 'logout', title: 'Log out', group: 'Account', enabled: signedIn, run: () => void logout() },
    ]),
  );

  const press = (event: KeyboardEvent) => {
    if (event.key === 'k' && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      setListed(true);
      return;
    }
    commands.press(event);
  };
  onMount(() => {
    window.addEventListener('keydown', press);
    onCleanup(() => window.removeEventListener('keydown', press));
  });

  return (
    <>
      <Switch>
        <Match when={session.state() === 'unreachable'}>
          <Unreachable />
        </Match>
        <Match when={settled() && route()}>
          {(found) => (
            <Show
              when={found().audience === 'member'}
              fallback={
                <Suspense>
                  <Dynamic component={found().page} />
                </Suspense>
              }
            >
              <Shell nav={nav}>
                <Suspense>
                  <Dynamic component={found().page} />
                </Suspense>
              </Shell>
            </Show>
          )}
        </Match>
        <Match when={settled()}>
          <Shell nav={nav}>
            <div class="page-middle">
              <h1>There is no such page</h1>
              <p>The address may be mistyped, or the page was moved.</p>
              <Link href="/" class="button">
                Go to the overview
              </Link>
            </div>
          </Shell>
        </Match>
      </Switch>
      <CommandDialog open={listed()} onClose={() => setListed(false)} />
      <ToastList />
    </>
  );
}

const RETRY_MS = 3_000;

function Unreachable() {
  const { session } = useKernel();
  const timer = setInterval(() => void session.load(), RETRY_MS);
  onCleanup(() => clearInterval(timer));
  return (
    <main class="page-middle">
      <h1>The server does not answer</h1>
      <p>
        It may be starting or restarting. This page tries again by itself every few seconds; deployed MCP servers go on serving.
      </p>
      <Button onPress={() => void session.load()}>Try now</Button>
    </main>
  );
}
