import { createContext, onCleanup, onMount, useContext } from 'solid-js';
import type { Output } from '#core/contract/index.ts';
import { type Call, createApi } from '../api.ts';
import { type Cache, type CachedQuery, createCache } from './data/cache.ts';
import { type Command, type Commands, createCommands } from './commands.ts';
import { createDialogs, type Dialogs } from './dialogs.ts';
import { createFirstRun, type FirstRun } from './first-run.ts';
import { createPulse, type Pulse } from './data/pulse.ts';
import { createPresence, type Presence } from './data/presence.ts';
import { createRefresher, type Refresher } from './data/refresher.ts';
import { createRouter, type Router } from './route/router.ts';
import { createSessionGate, type Line, type SessionGate } from './data/session-gate.ts';
import { createSession, type Session, type SharedPerson } from './session.ts';
import { browserStorage } from './storage.ts';
import { createTheme, type ThemeChoice } from './theme.ts';
import { createToasts, type Toasts } from './toasts.ts';

/** State and actions of the interface, without markup. */
interface Kernel {
  readonly call: Call;
  /** `fetch` with the session, for requests that are not operations. */
  readonly send: SessionGate['send'];
  readonly attach: SessionGate['attach'];
  /** Cached answers, shared by the parts of a page; pages use it through `useQuery`. */
  readonly cache: Cache;
  readonly presence: Presence;
  readonly pulse: Pulse;
  /** Reloads shown answers when they are outdated; pages use it through `useQuery` and `useFollow`. */
  readonly refresher: Refresher;
  readonly session: Session;
  readonly router: Router;
  readonly toasts: Toasts;
  readonly theme: ThemeChoice;
  readonly commands: Commands;
  readonly dialogs: Dialogs;
  readonly first_run: FirstRun;
  /** The served version. */
  readonly serving: CachedQuery<Output<'deploy.status'>>;
}

export function createKernel(browser: Window): Kernel {
  const toasts = createToasts();
  const api = createApi({
    onSessionEnd: () => {
      session.end();
    },
    onRoleRefused: () => void session.refresh(),
    onProofRequired: (dangers) => dialogs.prove(dangers),
    onApprovalRequired: (dangers) => dialogs.propose(dangers),
    onProposed: (id) =>
      toasts.show('Proposed. Another administrator has to approve it.', 'good', {
        action: { label: 'Open', run: () => router.navigate(`/proposals/${id}`) },
      }),
    onChanged: (source, name) => {
      pulse.expect(name);
      cache.invalidate(source);
    },
  });
  const gate = createSessionGate(api, (path, init) => browser.fetch(path, init));
  const { call, send, attach } = gate;
  const presence = createPresence(browser, () => cache.invalidate());
  const pulse = createPulse({
    origin: browser.location.origin.replace(/^http/, 'ws'),
    onSessionEnd: () => void session.refresh(),
  });
  const refresher = createRefresher({ isOld: pulse.isOld, here: presence.here });
  const cache = createCache(call, undefined, refresher);
  // Reloads what could not be read while the session had ended.
  const session = createSession(api, { gate, onEnter: () => cache.invalidate(), shared: sharedPerson() });
  const serving = cache.query((read) => read('deploy.status', {}));
  const dialogs = createDialogs();
  const leave = (text: string) =>
    dialogs.confirm({ title: 'Leave without saving?', text, action: 'Leave', cancel: 'Stay here', danger: true });
  const router = createRouter(browser, leave);
  return {
    call,
    send,
    attach,
    cache,
    presence,
    pulse,
    refresher,
    session,
    toasts,
    dialogs,
    serving,
    first_run: createFirstRun(call, browserStorage),
    router,
    commands: createCommands(browserStorage, session.may),
    theme: createTheme(browserStorage, (theme) => {
      const { dataset } = browser.document.documentElement;
      if (theme === 'system') delete dataset['theme'];
      else dataset['theme'] = theme;
    }),
  };
}

/** The tabs of a browser share one cookie, so a sign-in or sign-out applies to all of them. */
function sharedPerson(): SharedPerson {
  const tabs = new BroadcastChannel('sluice.person');
  return {
    tell: (id) => tabs.postMessage(id),
    follow(onPerson) {
      tabs.addEventListener('message', ({ data }) => onPerson(typeof data === 'string' ? data : undefined));
    },
  };
}

export const KernelContext = createContext<Kernel>();

export function useKernel(): Kernel {
  const kernel = useContext(KernelContext);
  if (kernel === undefined) throw new Error('useKernel needs a KernelContext above it');
  return kernel;
}

/** Registers commands while the component is mounted. */
export const useCommands = (list: readonly Command[]): void => void onCleanup(useKernel().commands.register(list));

/** Keeps a connection open while the component is mounted and the session lasts. */
export function useLine(line: Line): void {
  const { attach } = useKernel();
  onMount(() => onCleanup(attach(line)));
}
