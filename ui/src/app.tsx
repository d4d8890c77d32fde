import {
  createEffect,
  createMemo,
  createSignal,
  ErrorBoundary,
  Match,
  onCleanup,
  onMount,
  Show,
  Suspense,
  Switch,
} from 'solid-js';
import { lazyPart } from '#ui/src/components/show/lazy-part.tsx';
import { usePoll } from '#ui/src/components/use-query.ts';
import { Dynamic } from 'solid-js/web';
import { holds, type Role, ROLE_CHOICES } from '#core/contract/identity/roles.ts';
import { Button } from './components/button.tsx';
import { LinkButton } from './components/link.tsx';
import { RouteContext } from '#ui/src/components/shell/route-context.ts';
import { titleCutText } from '#ui/src/components/shell/cut-text.ts';
import { keepScroll } from '#ui/src/components/shell/scroll-keeper.ts';
import { type NavGroup, Shell } from '#ui/src/components/shell/shell.tsx';
import { ToastList } from '#ui/src/components/shell/toast-list.tsx';
import { registerCommands } from '#ui/src/components/shell/app-commands.ts';
import { NAV, NAV_GROUPS } from '#ui/src/components/shell/app-tables.ts';
import { useKernel } from './kernel/kernel.ts';
import { matchPath } from '#ui/src/kernel/route/router.ts';
import { isPassing, isUnloaded, toProblem } from './kernel/problem.ts';
import { redirect } from './kernel/session.ts';
import { type Route, routes } from './routes.tsx';

const AskedDialog = lazyPart(async () => (await import('./components/shell/asked-dialog.tsx')).AskedDialog);
const SignInDialog = lazyPart(async () => (await import('./features/sign-in/sign-in-dialog.tsx')).SignInDialog);
const CommandDialog = lazyPart(async () => (await import('./components/shell/command-dialog.tsx')).CommandDialog);
const ShortcutsDialog = lazyPart(async () => (await import('./components/shell/shortcuts-dialog.tsx')).ShortcutsDialog);

const hrefPath = (href: string): string => new URL(href, window.location.origin).pathname;
const routeOf = (path: string): Route | undefined => routes.find((candidate) => matchPath(candidate.path, path) !== null);
const prefetch = (href: string) => routeOf(hrefPath(href))?.preload();

const pages = NAV.map(([path, group, icon, letter]) => ({ path, group, icon, letter, label: routeOf(path)?.title ?? path }));
const nav: readonly NavGroup[] = NAV_GROUPS.map((name) => ({
  name,
  entries: pages.filter(({ group }) => group === name),
}));

export function App() {
  const { session, router, commands, dialogs } = useKernel();
  const [finding, setFinding] = createSignal(false);
  const [shortcuts, setShortcuts] = createSignal(false);
  const route = createMemo(() => routeOf(router.path()));
  const isOpen = ({ audience, least }: Route): boolean => {
    const role = session.role();
    return audience !== 'member' || (role !== undefined && holds(role, least));
  };
  const mayOpen = (href: string): boolean => {
    const to = routeOf(hrefPath(href));
    return to === undefined || isOpen(to);
  };
  const own_nav = createMemo(() =>
    nav
      .map(({ name, entries }) => ({ name, entries: entries.filter(({ path }) => mayOpen(path)) }))
      .filter(({ entries }) => entries.length > 0),
  );
  const params = createMemo(() => matchPath(route()?.path ?? '', router.path()) ?? {});
  /** Who only calls tools has an account here and nothing else. */
  const home = () => (session.role() === 'caller' && router.path() === '/' ? '/account' : undefined);
  const elsewhere = createMemo(
    () =>
      redirect(session.state(), route()?.audience ?? 'member', {
        path: router.path(),
        search: window.location.search,
        origin: window.location.origin,
      }) ?? home(),
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
  onCleanup(titleCutText(document));
  registerCommands(pages, {
    find: () => setFinding(true),
    shortcuts: () => setShortcuts(true),
    mayOpen,
  });

  const press = (event: KeyboardEvent) => {
    if (event.key.toLowerCase() === 'k' && (event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey) {
      event.preventDefault();
      // What is found would drop what was typed into a dialog.
      if (document.querySelector('.overlay-place') === null) setFinding(true);
      return;
    }
    // While the palette is on its way, keys are meant for it.
    if (!finding()) commands.press(event);
    else if (event.key === 'Escape' && document.querySelector('.overlay-place') === null) setFinding(false);
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
    <RouteContext.Provider value={{ params, prefetch, mayOpen }}>
      <Switch>
        <Match when={session.state() === 'unreachable'}>
          <Unreachable />
        </Match>
        <Match when={settled() && (route()?.audience ?? 'member') === 'member'}>
          <Shell nav={own_nav()}>
            <Show when={place()} keyed fallback={<NotFound />}>
              {(path) => (
                <Show when={mayOpen(path)} fallback={<NotAllowed least={routeOf(path)?.least ?? 'admin'} />}>
                  {page(path)}
                </Show>
              )}
            </Show>
          </Shell>
        </Match>
        <Match when={settled()}>
          <Show when={place()} keyed>
            {page}
          </Show>
        </Match>
      </Switch>
      <Show when={finding()}>
        <CommandDialog onClose={() => setFinding(false)} />
      </Show>
      <Show when={shortcuts()}>
        <ShortcutsDialog onClose={() => setShortcuts(false)} />
      </Show>
      <Show when={session.state() === 'expired'}>
        <SignInDialog />
      </Show>
      <Show when={dialogs.asked() !== undefined}>
        <AskedDialog />
      </Show>
      <ToastList />
    </RouteContext.Provider>
  );
}

function NotFound() {
  return (
    <div class="page-middle">
      <h1>Page not found</h1>
      <p>Check the address, or start from the overview.</p>
      <LinkButton href="/">Go to the overview</LinkButton>
    </div>
  );
}

/** The role of the person does not reach this page. */
function NotAllowed(props: { least: Role }) {
  const { session } = useKernel();
  const yours = () => ROLE_CHOICES[session.role() ?? 'caller'].label;
  return (
    <div class="page-middle">
      <h1>You don’t have access to this page</h1>
      <p>{`It requires the role ${ROLE_CHOICES[props.least].label}. Your role is ${yours()}. Ask an administrator if you need access.`}</p>
      <Show when={session.role() !== 'caller'} fallback={<LinkButton href="/account">Go to your account</LinkButton>}>
        <LinkButton href="/">Go to the overview</LinkButton>
      </Show>
    </div>
  );
}

const RETRY_MS = 3_000;

/** Where the server is away, a reload as soon as it answers brings the page; else a newer build has replaced its code. */
function Broken(props: { fault: unknown }) {
  const { call } = useKernel();
  const [away, setAway] = createSignal(false);
  const look = async () => {
    const answered = await call('auth.status', {}).then(
      () => true,
      (fault: unknown) => !isPassing(toProblem(fault)),
    );
    if (answered && away()) window.location.reload();
    setAway(!answered);
  };
  createEffect(() => {
    // oxlint-disable-next-line no-console
    console.error(props.fault);
    if (isUnloaded(props.fault)) void look();
  });
  usePoll(async () => {
    if (away()) await look();
  }, RETRY_MS);
  return (
    <div class="page-middle">
      <Show
        when={!away()}
        fallback={
          <>
            <h1>The server is not responding</h1>
            <p>This page opens as soon as the server answers. Deployed tools keep working.</p>
          </>
        }
      >
        <h1>This page could not be {isUnloaded(props.fault) ? 'loaded' : 'shown'}</h1>
        <p>
          {isUnloaded(props.fault)
            ? 'Sluice may have been updated. Reload to get the new version; saved changes are not affected.'
            : 'An error occurred in the interface. Reload the page; saved changes are not affected.'}
        </p>
      </Show>
      <Button kind="primary" onPress={() => window.location.reload()}>
        Reload
      </Button>
    </div>
  );
}

function Unreachable() {
  const { session } = useKernel();
  usePoll(() => session.load(), RETRY_MS);
  return (
    <main class="page-middle">
      <h1>The server is not responding</h1>
      <p>It may be starting or restarting. This page retries every few seconds. Deployed tools keep working.</p>
      <Button onPress={() => void session.load()}>Try now</Button>
    </main>
  );
}
