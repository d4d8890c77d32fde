import {
  createEffect,
  createMemo,
  createSignal,
  ErrorBoundary,
  lazy,
  Match,
  onCleanup,
  onMount,
  Show,
  Suspense,
  Switch,
} from 'solid-js';
import { Dynamic } from 'solid-js/web';
import { Button } from './components/button.tsx';
import { LinkButton } from './components/link.tsx';
import { RouteContext } from './components/route-context.ts';
import { keepScroll } from './components/scroll-keeper.ts';
import { type NavGroup, Shell } from './components/shell.tsx';
import { ToastList } from './components/toast-list.tsx';
import { registerCommands } from './components/app-commands.ts';
import { useKernel } from './kernel/kernel.ts';
import { matchPath } from './kernel/router.ts';
import { redirect } from './kernel/session.ts';
import { NAV_GROUPS, type Route, routes } from './routes.tsx';

const AskedDialog = lazy(async () => ({ default: (await import('./components/asked-dialog.tsx')).AskedDialog }));
const CommandDialog = lazy(async () => ({ default: (await import('./components/command-dialog.tsx')).CommandDialog }));
const ShortcutsDialog = lazy(async () => ({ default: (await import('./components/shortcuts-dialog.tsx')).ShortcutsDialog }));

const nav: readonly NavGroup[] = NAV_GROUPS.map((name) => ({
  name,
  entries: routes.flatMap(({ path, title, nav }) => (nav?.group === name ? [{ path, label: title, icon: nav.icon }] : [])),
})).filter(({ entries }) => entries.length > 0);

const routeOf = (path: string): Route | undefined => routes.find((candidate) => matchPath(candidate.path, path) !== null);
const prefetch = (href: string) => void routeOf(new URL(href, window.location.origin).pathname)?.page.preload();

export function App() {
  const { session, router, commands, dialogs } = useKernel();
  const [finding, setFinding] = createSignal(false);
  const [shortcuts, setShortcuts] = createSignal(false);
  const route = createMemo(() => routeOf(router.path()));
  const params = createMemo(() => matchPath(route()?.path ?? '', router.path()) ?? {});
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
  keepScroll();
  registerCommands([...nav.flatMap(({ entries }) => entries), { path: '/account', label: 'Account' }], {
    find: () => setFinding(true),
    shortcuts: () => setShortcuts(true),
  });

  const press = (event: KeyboardEvent) => {
    if (event.key.toLowerCase() === 'k' && (event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey) {
      event.preventDefault();
      setFinding(true);
      return;
    }
    commands.press(event);
  };
  onMount(() => {
    window.addEventListener('keydown', press);
    onCleanup(() => window.removeEventListener('keydown', press));
  });

  /** A page is made anew for every path: what it read of `params` stays true. */
  const place = createMemo(() => (settled() && route() !== undefined ? router.path() : undefined));
  const page = (path: string) => (
    <ErrorBoundary fallback={(fault: unknown) => <Broken fault={fault} />}>
      <Suspense fallback={<div class="page-waiting" aria-busy="true" />}>
        <Dynamic component={routeOf(path)?.page} />
      </Suspense>
    </ErrorBoundary>
  );

  return (
    <RouteContext.Provider value={{ params, prefetch }}>
      <Switch>
        <Match when={session.state() === 'unreachable'}>
          <Unreachable />
        </Match>
        <Match when={settled() && (route()?.audience ?? 'member') === 'member'}>
          <Shell nav={nav}>
            <Show when={place()} keyed fallback={<NotFound />}>
              {page}
            </Show>
          </Shell>
        </Match>
        <Match when={settled()}>
          <Show when={place()} keyed>
            {page}
          </Show>
        </Match>
      </Switch>
      <Suspense>
        <Show when={finding()}>
          <CommandDialog open onClose={() => setFinding(false)} />
        </Show>
        <Show when={shortcuts()}>
          <ShortcutsDialog open onClose={() => setShortcuts(false)} />
        </Show>
        <Show when={dialogs.asked() !== undefined}>
          <AskedDialog />
        </Show>
      </Suspense>
      <ToastList />
    </RouteContext.Provider>
  );
}

function NotFound() {
  return (
    <div class="page-middle">
      <h1>There is no such page</h1>
      <p>The address may be mistyped, or the page was moved.</p>
      <LinkButton href="/">Go to the overview</LinkButton>
    </div>
  );
}

/** The code of a page that a newer build has replaced can no longer be loaded: a reload brings the new one. */
function Broken(props: { fault: unknown }) {
  createEffect(() => {
    // oxlint-disable-next-line no-console
    console.error(props.fault);
  });
  return (
    <div class="page-middle">
      <h1>This page could not be shown</h1>
      <p>A newer version may have been installed meanwhile. Reload to get it; nothing that was saved is lost.</p>
      <Button kind="primary" onPress={() => window.location.reload()}>
        Reload
      </Button>
    </div>
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
