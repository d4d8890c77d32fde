/** Remembered choices of this browser; a browser that forbids storage forgets them, nothing else. */
export interface Storage {
  read(key: string): string | undefined;
  write(key: string, value: string | undefined): void;
}

const PREFIX = 'sluice.';

export const browserStorage: Storage = {
  read(key) {
    try {
      return localStorage.getItem(PREFIX + key) ?? undefined;
    } catch {
      return undefined;
    }
  },
  write(key, value) {
    try {
      if (value === undefined) localStorage.removeItem(PREFIX + key);
      else localStorage.setItem(PREFIX + key, value);
    } catch {
      // Forbidden or full: the choice holds until the page is closed.
    }
  },
};
