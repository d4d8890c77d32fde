import { createSignal, For, type JSX, Show } from 'solid-js';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import type { Theme } from '#ui/src/kernel/theme.ts';
import { Button } from './button.tsx';
import { Icon, type IconName } from './icon.tsx';
import { Link } from './link.tsx';
import { Mark } from './brand.tsx';

export interface NavEntry {
  readonly path: string;
  readonly label: string;
  readonly icon: IconName;
}

const REFERENCE = [
  { href: '/api/docs', label: 'Try the REST API', icon: 'braces' },
  { href: '/api/redoc', label: 'API reference', icon: 'book' },
] as const;

export const THEME_WORD = { system: 'System', light: 'Light', dark: 'Dark' } as const satisfies Record<Theme, string>;
export const THEME_ICON = { system: 'monitor', light: 'sun', dark: 'moon' } as const satisfies Record<Theme, IconName>;

/** Navigation, account and the frame that every page of a signed-in administrator stands in. */
export function Shell(props: { nav: readonly NavEntry[]; children: JSX.Element }) {
  const { commands } = useKernel();
  const [drawer, setDrawer] = createSignal<HTMLDialogElement>();
  const brand = () => (
    <Link href="/" class="brand" onFollow={() => drawer()?.close()}>
      <Mark />
      Sluice
    </Link>
  );

  return (
    <div class="shell">
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <header class="topbar">
        {brand()}
        <Button kind="quiet" shape="icon" label="Commands" onPress={() => commands.run('commands')}>
          <Icon name="search" />
        </Button>
        <Button kind="quiet" shape="icon" label="Menu" aria-haspopup="dialog" onPress={() => drawer()?.showModal()}>
          <Icon name="menu" />
        </Button>
        <dialog
          ref={setDrawer}
          class="dialog drawer"
          aria-label="Menu"
          onClick={(event) => {
            if (event.target === event.currentTarget) drawer()?.close();
          }}
        >
          <SideContent nav={props.nav} brand={brand()} onFollow={() => drawer()?.close()} />
        </dialog>
      </header>
      <div class="side">
        <SideContent nav={props.nav} brand={brand()} />
      </div>
      <main id="main" class="main" tabindex="-1">
        {props.children}
      </main>
    </div>
  );
}

function SideContent(props: { nav: readonly NavEntry[]; brand: JSX.Element; onFollow?: () => void }) {
  const { router, session, theme, commands } = useKernel();
  const then = (id: string) => () => {
    props.onFollow?.();
    commands.run(id);
  };
  return (
    <div class="side-inner">
      {props.brand}
      <nav class="nav" aria-label="Main">
        <For each={props.nav}>
          {(entry) => (
            <Link href={entry.path} current={router.path() === entry.path} onFollow={() => props.onFollow?.()}>
              <Icon name={entry.icon} />
              {entry.label}
            </Link>
          )}
        </For>
        <p class="nav-group">Reference</p>
        <For each={REFERENCE}>
          {(entry) => (
            <a href={entry.href}>
              <Icon name={entry.icon} />
              {entry.label}
            </a>
          )}
        </For>
      </nav>
      <div class="account">
        <div class="account-name" title={session.username()}>
          {session.username()}
          <Show when={session.version()}>
            <span class="faint small num"> · Sluice {session.version()}</span>
          </Show>
        </div>
        <div class="row">
          <Button kind="quiet" shape="icon" label={`Theme: ${THEME_WORD[theme.theme()]}`} onPress={() => commands.run('theme')}>
            <Icon name={THEME_ICON[theme.theme()]} />
          </Button>
          <Button kind="quiet" shape="icon" label="Commands and shortcuts" onPress={then('commands')}>
            <Icon name="keyboard" />
          </Button>
          <Button kind="quiet" onPress={then('logout')}>
            <Icon name="leave" />
            Log out
          </Button>
        </div>
      </div>
    </div>
  );
}
