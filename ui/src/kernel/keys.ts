const IS_MAC = /Mac|iP(?:hone|ad)/.test(navigator.userAgent);

/** A key with the one that starts shortcuts on this system, as its keyboard says it: `Ctrl K`, `⌘K`. */
export const withMod = (key: string): string => (IS_MAC ? `⌘${key}` : `Ctrl ${key}`);
