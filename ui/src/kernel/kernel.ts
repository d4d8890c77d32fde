import { createContext, useContext } from 'solid-js';
import { type Call, createApi } from '../api.ts';
import { type Commands, createCommands } from './commands.ts';
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
}

export function createKernel(browser: Window): Kernel {
  const toasts = createToasts();
  const call = createApi({
    onSessionEnd: () => {
      if (session.end()) toasts.show('Your session has ended. Sign in again to go on.');
    },
  });
  const session = createSession(call);
  return {
    call,
    session,
    toasts,
    router: createRouter(browser),
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
