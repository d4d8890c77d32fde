import { createEffect, createSignal, For, type JSX, on, Show } from 'solid-js';
import { ROLE_CHOICES } from '#core/contract/roles.ts';
import { lazyPart } from '#ui/src/components/show/lazy-part.tsx';
import { useFollow } from '#ui/src/components/use-query.ts';
import { withMod } from '#ui/src/kernel/keys.ts';
import { useKernel, useLine } from '#ui/src/kernel/kernel.ts';
import { num } from '#ui/src/kernel/numbers.ts';
import type { Theme } from '#ui/src/kernel/theme.ts';
import { IconButton } from '#ui/src/components/button.tsx';
import { Bell } from './bell.tsx';
import { FirstRunStrip } from './first-run.tsx';
import { Icon, type IconName } from '#ui/src/components/icon.tsx';
import { Link } from '#ui/src/components/link.tsx';
import { isWithin, type NavEntry } from './app-tables.ts';
import { Mark } from './brand.tsx';
import { SectionTabs } from './section-tabs.tsx';
import { useOpenProposals } from './use-open-proposals.ts';
import { StandingWarnings } from './standing-warnings.tsx';

export const THEME_WORD = { system: 'System', light: 'Light', dark: 'Dark' } as const satisfies Record<Theme, string>;
export const THEME_ICON = { system: 'monitor', light: 'sun', dark: 'moon' } as const satisfies Record<Theme, IconName>;

const NavDrawer = lazyPart(async () => (await import('./nav-drawer.tsx')).NavDrawer);

/** Navigation, account and the frame that every page of a signed-in person stands in. */
export function Shell(props: { nav: readonly NavEntry[]; children: JSX.Element }) {
  const { commands, pulse, router, session, toasts } = useKernel();
  const waiting = useWaiting();
  const entry = () => props.nav.find((one) => isWithin(one, router.path()));
  const [open, setOpen] = createSignal(false);
  useLine(pulse.line);
  // An administrator can change the role of a person who is signed in: buttons follow.
  useFollow('auth.me', () => session.refresh());
  createEffect(
    on(session.role, (now, before) => {
      if (now !== undefined && before !== undefined)
        toasts.show(`Your role changed from ${ROLE_CHOICES[before].label} to ${ROLE_CHOICES[now].label}.`);
      return now;
    }),
  );
  return (
    <div class="shell">
      <a
        class="skip"
        href="#main"
        onClick={(event) => {
          event.preventDefault();
          document.querySelector<HTMLElement>('#main')?.focus();
        }}
      >
        Skip to content
      </a>
      <header class="topbar">
        <IconButton icon="menu" label="Menu" aria-haspopup="dialog" aria-expanded={open()} onPress={() => setOpen(true)} />
        <Brand />
        <Bell />
        <IconButton icon="search" label="Commands" onPress={() => commands.run('commands')} />
      </header>
      <div class="side">
        <SideContent nav={props.nav} waiting={waiting} />
      </div>
      <main id="main" class="main" tabindex="-1">
        <StandingWarnings />
        <Show when={entry()} keyed>
          {(one) => <SectionTabs entry={one} waiting={(href) => waiting(href)?.count ?? 0} />}
        </Show>
        {props.children}
      </main>
      <Show when={open()}>
        <NavDrawer onClose={() => setOpen(false)}>
          <SideContent nav={props.nav} waiting={waiting} onFollow={() => setOpen(false)} />
        </NavDrawer>
      </Show>
    </div>
  );
}

function Brand(props: { onFollow?: () => void }) {
  return (
    <Link href="/" class="brand" onFollow={() => props.onFollow?.()}>
      <Mark />
      Sluice
    </Link>
  );
}

function SideContent(props: { nav: readonly NavEntry[]; waiting: Waiting; onFollow?: () => void }) {
  const { router, session, theme, commands } = useKernel();
  const then = (id: string) => () => {
    props.onFollow?.();
    commands.run(id);
  };
  /** What waits behind any of its pages. */
  const waitingIn = ({ pages }: NavEntry) => pages.flatMap(({ href }) => props.waiting(href) ?? []);
  return (
    <div class="side-inner">
      <div class="side-top">
        <div class="side-brand">
          <Brand onFollow={() => props.onFollow?.()} />
          <span class="side-brand-end">
            <Show when={session.version()}>{(version) => <span class="faint small num">{version()}</span>}</Show>
            {/* The menu of a phone lies over the bell of the top bar, and would stay over the page that a notice leads to. */}
            <Show when={props.onFollow === undefined}>
              <Bell />
            </Show>
          </span>
        </div>
        <button type="button" class="palette-button" onClick={then('commands')}>
          <Icon name="search" size={14} />
          <span class="grow">Search…</span>
          <kbd>{withMod('K')}</kbd>
        </button>
      </div>
      <nav class="nav" aria-label="Main">
        <ul>
          <For each={props.nav}>
            {(entry) => (
              <li>
                <Link
                  href={entry.pages[0]?.href ?? '/'}
                  current={isWithin(entry, router.path())}
                  onFollow={() => props.onFollow?.()}
                >
                  <Icon name={entry.icon} />
                  {entry.label}
                  <Show when={waitingIn(entry).length > 0}>
                    <WaitingCount of={waitingIn(entry)} />
                  </Show>
                </Link>
              </li>
            )}
          </For>
        </ul>
      </nav>
      <div class="side-foot">
        <FirstRunStrip onFollow={() => props.onFollow?.()} />
        <div class="side-account">
          <Link href="/account" class="side-name" current={router.path() === '/account'} onFollow={() => props.onFollow?.()}>
            <Icon name="user" />
            <span class="truncate" title={session.username()}>
              {session.username()}
            </span>
            <span class="visually-hidden">, account</span>
          </Link>
          <IconButton
            icon={THEME_ICON[theme.theme()]}
            label={`Theme: ${THEME_WORD[theme.theme()]}`}
            onPress={() => commands.run('theme')}
          />
          <IconButton icon="keyboard" label="Commands and shortcuts" onPress={then('shortcuts')} />
          <IconButton icon="leave" label="Sign out" onPress={then('logout')} />
        </div>
      </div>
    </div>
  );
}

function WaitingCount(props: { of: readonly Waited[] }) {
  const inWords = () => props.of.map(({ count, words }) => `${num(count)} ${words}`).join(', ');
  return (
    <span class="nav-count num" title={inWords()}>
      <span aria-hidden="true">{num(props.of.reduce((sum, { count }) => sum + count, 0))}</span>
      <span class="visually-hidden">{inWords()}</span>
    </span>
  );
}

interface Waited {
  readonly count: number;
  /** What it is. */
  readonly words: string;
}

/** What waits for somebody on a page; undefined: nothing. */
type Waiting = (href: string) => Waited | undefined;

function useWaiting(): Waiting {
  const { serving } = useKernel();
  const proposals = useOpenProposals();
  return (href) => {
    const changes = href === '/deploy' ? (serving.data()?.pending_changes ?? 0) : 0;
    if (changes > 0) return { count: changes, words: `${changes === 1 ? 'change' : 'changes'} to deploy` };
    const open = href === '/proposals' ? proposals() : 0;
    return open > 0 ? { count: open, words: `${open === 1 ? 'proposal' : 'proposals'} to review` } : undefined;
  };
}
