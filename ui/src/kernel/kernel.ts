import { createContext, useContext } from 'solid-js';
import type { Output } from '#core/contract/index.ts';
import { type Call, createApi } from '../api.ts';
import { type Commands, createCommands } from './commands.ts';
import { createDialogs, type Dialogs } from './dialogs.ts';
import { createFirstRun, type FirstRun } from './first-run.ts';
import { createQuery, type Query } from './query.ts';
import { createRouter, type Router } from './router.ts';
import { createSession, type Session } from './session.ts';
import { browserStorage } from './storage.ts';
import { createTheme, type ThemeChoice } from './theme.ts';
import { createToasts, type Toasts } from './toasts.ts';

/**
 * State and verbs of the interface, without markup. Everything here keeps to signals and plain functions (no effects, no
 * memos), so it behaves the same in a plain `bun test`, where `solid-js` resolves to its server build.
 */
export interface Kernel {
  readonly call: Call;
  readonly session: Session;
  readonly router: Router;
  readonly toasts: Toasts;
  readonly theme: ThemeChoice;
  readonly commands: Commands;
  readonly dialogs: Dialogs;
  readonly first_run: FirstRun;
  /** What is served now; read again with every page and every deploy of this browser. */
  readonly serving: Query<Output<'deploy.status'>>;
}

export function createKernel(browser: Window): Kernel {
  const toasts = createToasts();
  const call = createApi({
    onSessionEnd: () => {
      if (session.end()) toasts.show('Your session has ended. Sign in again to go on.');
    },
    onDeployed: () => void serving.reload(),
  });
  const session = createSession(call);
  const serving = createQuery((signal) => call('deploy.status', {}, signal));
  const dialogs = createDialogs();
  const leave = (text: string) =>
    dialogs.confirm({ title: 'Leave without saving?', text, action: 'Leave', cancel: 'Stay here', danger: true });
  return {
    call,
    session,
    toasts,
    dialogs,
    serving,
    first_run: createFirstRun(call, browserStorage),
    router: createRouter(browser, leave),
    commands: createCommands(browserStorage),
    theme: createTheme(browserStorage, (theme) => {
      const { dataset } = browser.document.documentElement;
      if (theme === 'system') delete dataset['theme'];
      else dataset['theme'] = theme;
    }),
  };
}

export const KernelContext = createContext<Kernel>();

export function useKernel(): Kernel {
  const kernel = useContext(KernelContext);
  if (kernel === undefined) throw new Error('useKernel needs a KernelContext above it');
  return kernel;
}
