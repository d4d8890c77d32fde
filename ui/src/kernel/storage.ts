/** Remembered choices of this browser; a browser that forbids storage forgets them, nothing else. */
export interface Storage {
  read(key: string): string | undefined;
  write(key: string, value: string | undefined): void;
}

const PREFIX = 'sluice.';

const storageOf = (open: () => globalThis.Storage): Storage => ({
  read(key) {
    try {
      return open().getItem(PREFIX + key) ?? undefined;
    } catch {
      return undefined;
    }
  },
  write(key, value) {
    try {
      if (value === undefined) open().removeItem(PREFIX + key);
      else open().setItem(PREFIX + key, value);
    } catch {
      // Forbidden or full: the choice holds until the page is closed.
    }
  },
});

export const browserStorage = storageOf(() => localStorage);
/** Gone with the tab, and with the session. */
export const tabStorage = storageOf(() => sessionStorage);

export function forgetTab(): void {
  try {
    sessionStorage.clear();
  } catch {
    // A browser that forbids storage has nothing to forget.
  }
}
