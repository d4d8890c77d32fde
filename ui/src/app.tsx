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
import { holds, type Role, ROLE_CHOICES } from '#core/contract/roles.ts';
import { Button } from './components/button.tsx';
import { LinkButton } from './components/link.tsx';
import { RouteContext } from '#ui/src/components/shell/route-context.ts';
import { titleCutText } from '#ui/src/components/shell/cut-text.ts';
import { keepScroll } from '#ui/src/components/shell/scroll-keeper.ts';
import { Shell } from '#ui/src/components/shell/shell.tsx';
import { ToastList } from '#ui/src/components/shell/toast-list.tsx';
import { ACCOUNT, NAV, type NavPage } from '#ui/src/components/shell/app-tables.ts';
import { useKernel } from './kernel/kernel.ts';
import { matchPath } from '#ui/src/kernel/route/router.ts';
import { isPassing, isUnloaded, toProblem } from './kernel/problem.ts';
import { redirect } from './kernel/session.ts';
import { type Route, routes } from './routes.tsx';

const AskedDialog = lazyPart(async () => (await import('./components/shell/dialogs/asked-dialog.tsx')).AskedDialog);
const COMMAND_PAGES: readonly NavPage[] = [...NAV.flatMap(({ pages }) => pages), ACCOUNT];
const AppCommands = lazyPart(async () => (await import('./components/shell/app-commands.ts')).AppCommands);
const SignInDialog = lazyPart(async () => (await import('./features/sign-in/sign-in-dialog.tsx')).SignInDialog);
const CommandDialog = lazyPart(async () => (await import('./components/shell/command-dialog.tsx')).CommandDialog);
const ShortcutsDialog = lazyPart(async () => (await import('./components/shell/shortcuts-dialog.tsx')).ShortcutsDialog);

const hrefPath = (href: string): string => new URL(href, window.location.origin).pathname;
const routeOf = (path: string): Route | undefined => routes.find((candidate) => matchPath(candidate.path, path) !== null);

export function App() {
  const { session, router, commands, dialogs } = useKernel();
  const [finding, setFinding] = createSignal(false);
  const [shortcuts, setShortcuts] = createSignal(false);
  const isOpen = ({ audience, least }: Route): boolean => {
    const role = session.role();
    return audience !== 'member' || (role !== undefined && holds(role, least));
  };
  /** Several pages can share an address: the first one that the person's role may open. */
  const routeFor = (path: string): Route | undefined => {
    const first = routeOf(path);
    return routes.find((candidate) => candidate.path === first?.path && isOpen(candidate)) ?? first;
  };
  const route = createMemo(() => routeFor(router.path()));
  const prefetch = (href: string) => routeFor(hrefPath(href))?.preload();
  const mayOpen = (href: string): boolean => {
    const to = routeFor(hrefPath(href));
    return to === undefined || isOpen(to);
  };
  const isShown = ({ href, needs }: NavPage): boolean => mayOpen(href) && (needs === undefined || session.may(needs));
  const nav = createMemo(() =>
    NAV.map((entry) => ({ ...entry, pages: entry.pages.filter(isShown) })).filter(({ pages }) => pages.length > 0),
  );
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
  onCleanup(titleCutText(document));

  const press = (event: KeyboardEvent) => {
    if (event.key.toLowerCase() === 'k' && (event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey) {
      event.preventDefault();
      // Opening a result would drop what was typed into the dialog.
      if (document.querySelector('.overlay-place') === null) setFinding(true);
      return;
    }
    // While the palette is loading, keys are meant for it.
    if (!finding()) commands.press(event);
    else if (event.key === 'Escape' && document.querySelector('.overlay-place') === null) setFinding(false);
  };
  onMount(() => {
    window.addEventListener('keydown', press);
    onCleanup(() => window.removeEventListener('keydown', press));
  });

  /** Each path creates a new page, so values read from `params` stay valid. */
  const place = createMemo(() => (settled() && route() !== undefined ? router.path() : undefined));
  const page = (path: string) => (
    <ErrorBoundary fallback={(fault: unknown) => <Broken fault={fault} />}>
      <Suspense fallback={<div class="page-waiting" aria-busy="true" />}>
        <Dynamic component={routeFor(path)?.page} />
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
          <Shell nav={nav()}>
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
      <AppCommands pages={COMMAND_PAGES} find={() => setFinding(true)} shortcuts={() => setShortcuts(true)} mayOpen={mayOpen} />
      <Show when={finding()}>
        <CommandDialog onClose={() => setFinding(false)} />
      </Show>
      <Show when={shortcuts()}>
        <ShortcutsDialog onClose={() => setShortcuts(false)} />
      </Show>
      <Show when={session.state() === 'expired'}>
        <SignInDialog />
      </Show>
      <Show when={dialogs.question() !== undefined}>
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
      <p>Check the address, or start from Home.</p>
      <LinkButton href="/">Go to Home</LinkButton>
    </div>
  );
}

/** The person's role may not open this page. */
function NotAllowed(props: { least: Role }) {
  const { session } = useKernel();
  const yours = () => ROLE_CHOICES[session.role() ?? 'caller'].label;
  return (
    <div class="page-middle">
      <h1>You don’t have access to this page</h1>
      <p>{`It requires the role ${ROLE_CHOICES[props.least].label}. Your role is ${yours()}. Ask an administrator if you need access.`}</p>
      <LinkButton href="/">Go to Home</LinkButton>
    </div>
  );
}

const RETRY_MS = 3_000;

/** If the server is unreachable, the page reloads as soon as it answers; otherwise a newer build has replaced the page's code. */
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
