import { createSignal } from 'solid-js';
import type { Storage } from './storage.ts';

const THEMES = ['system', 'light', 'dark'] as const;
export type Theme = (typeof THEMES)[number];

export interface ThemeChoice {
  readonly theme: () => Theme;
  choose(theme: Theme): void;
  /** The next of system, light, dark; returns it. */
  next(): Theme;
}

/** `public/theme.js` reads the same key before the first paint. */
export function createTheme(storage: Storage, apply: (theme: Theme) => void): ThemeChoice {
  const stored = THEMES.find((theme) => theme === storage.read('theme')) ?? 'system';
  const [theme, setTheme] = createSignal<Theme>(stored);
  apply(stored);

  const choose = (chosen: Theme) => {
    setTheme(chosen);
    storage.write('theme', chosen === 'system' ? undefined : chosen);
    apply(chosen);
  };

  return {
    theme,
    choose,
    next() {
      const chosen = THEMES[(THEMES.indexOf(theme()) + 1) % THEMES.length] ?? 'system';
      choose(chosen);
      return chosen;
    },
  };
}
