import { createEffect, createSignal, For, type JSX, on, Show } from 'solid-js';
import { ROLE_CHOICES } from '#core/contract/identity/roles.ts';
import { lazyPart } from '#ui/src/components/show/lazy-part.tsx';
import { usePoll, useQuery } from '#ui/src/components/use-query.ts';
import { withMod } from '#ui/src/kernel/keys.ts';
import { useKernel, useLine } from '#ui/src/kernel/kernel.ts';
import { num } from '#ui/src/kernel/numbers.ts';
import type { Theme } from '#ui/src/kernel/theme.ts';
import { IconButton } from '#ui/src/components/button.tsx';
import { Bell } from './bell.tsx';
import { FirstRunStrip } from './first-run.tsx';
import { Icon, type IconName } from '#ui/src/components/icon.tsx';
import { Link } from '#ui/src/components/link.tsx';
import { Mark } from './brand.tsx';
import { StandingWarnings } from './standing-warnings.tsx';

export interface NavEntry {
  readonly path: string;
  readonly label: string;
  readonly icon: IconName;
}

export interface NavGroup {
  readonly name: string;
  readonly entries: readonly NavEntry[];
}

/** Agents propose at any time. */
const PROPOSALS_MS = 30_000;
/** An administrator may change the role of somebody at work: buttons follow. */
const ROLE_MS = 15_000;
const ONLY_COUNTED = { state: 'open', limit: 1 } as const;

const REFERENCE = [
  { href: '/api/docs', label: 'REST API explorer', icon: 'braces' },
  { href: '/api/redoc', label: 'API reference', icon: 'book' },
] as const;

export const THEME_WORD = { system: 'System', light: 'Light', dark: 'Dark' } as const satisfies Record<Theme, string>;
export const THEME_ICON = { system: 'monitor', light: 'sun', dark: 'moon' } as const satisfies Record<Theme, IconName>;

const NavDrawer = lazyPart(async () => (await import('./nav-drawer.tsx')).NavDrawer);

/** Navigation, account and the frame that every page of a signed-in person stands in. */
export function Shell(props: { nav: readonly NavGroup[]; children: JSX.Element }) {
  const { commands, pulse, session, toasts } = useKernel();
  const [open, setOpen] = createSignal(false);
  useLine(pulse.line);
  usePoll(() => session.refresh(), ROLE_MS, ['auth']);
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
        <SideContent nav={props.nav} />
      </div>
      <main id="main" class="main" tabindex="-1">
        <StandingWarnings />
        {props.children}
      </main>
      <Show when={open()}>
        <NavDrawer onClose={() => setOpen(false)}>
          <SideContent nav={props.nav} onFollow={() => setOpen(false)} />
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

function SideContent(props: { nav: readonly NavGroup[]; onFollow?: () => void }) {
  const { router, serving, session, theme, commands } = useKernel();
  const proposals = useQuery(
    async (read) => (session.may('proposals.list') ? (await read('proposals.list', ONLY_COUNTED)).open : 0),
    {
      every_ms: PROPOSALS_MS,
    },
  );
  /** What waits behind an entry, and what it is. */
  const waiting = (path: string): { readonly count: number; readonly words: string } | undefined => {
    const pending = path === '/deploy' ? (serving.data()?.pending_changes ?? 0) : 0;
    if (pending > 0) return { count: pending, words: `${pending === 1 ? 'change' : 'changes'} to deploy` };
    const open = path === '/proposals' ? (proposals.data() ?? 0) : 0;
    return open > 0 ? { count: open, words: `${open === 1 ? 'proposal' : 'proposals'} to review` } : undefined;
  };
  const then = (id: string) => () => {
    props.onFollow?.();
    commands.run(id);
  };
  const current = (path: string) => router.path() === path || (path !== '/' && router.path().startsWith(`${path}/`));
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
        <For each={props.nav}>
          {(group) => (
            <NavSection name={group.name}>
              <For each={group.entries}>
                {(entry) => (
                  <li>
                    <Link href={entry.path} current={current(entry.path)} onFollow={() => props.onFollow?.()}>
                      <Icon name={entry.icon} />
                      {entry.label}
                      <Show when={waiting(entry.path)}>
                        {(some) => (
                          <span class="nav-count num" title={`${num(some().count)} ${some().words}`}>
                            {num(some().count)}
                            <span class="visually-hidden"> {some().words}</span>
                          </span>
                        )}
                      </Show>
                    </Link>
                  </li>
                )}
              </For>
            </NavSection>
          )}
        </For>
        <Show when={session.may('tools.list')}>
          <NavSection>
            <For each={REFERENCE}>
              {(entry) => (
                <li>
                  <a href={entry.href}>
                    <Icon name={entry.icon} />
                    {entry.label}
                  </a>
                </li>
              )}
            </For>
          </NavSection>
        </Show>
      </nav>
      <div class="side-foot">
        <FirstRunStrip onFollow={() => props.onFollow?.()} />
        <div class="side-account">
          <Link href="/account" class="side-name" current={current('/account')} onFollow={() => props.onFollow?.()}>
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

function NavSection(props: { name?: string; children: JSX.Element }) {
  return (
    <section class="nav-section">
      <Show when={props.name}>
        <h2 class="nav-group">{props.name}</h2>
      </Show>
      <ul>{props.children}</ul>
    </section>
  );
}
