/** Whether a person is looking: nothing is asked repeatedly for a hidden page, or to keep the session of somebody who left alive. */
export interface Presence {
  readonly here: () => boolean;
  /**
   * Resolves at once, or when the pointer that is pressed was released and its click has run: what a list does by itself waits for
   * it, since a click is lost when what was pressed moves or goes.
   */
  readonly released: () => Promise<void>;
  readonly pressed: () => boolean;
}

const LEFT_AFTER_MS = 15 * 60_000;
/** A scroll bar and a context menu swallow the release. */
const LONGEST_PRESS_MS = 2_000;
const SIGNS = ['pointerdown', 'pointermove', 'keydown', 'wheel', 'focus'] as const;

export function createPresence(browser: Window): Presence {
  let seen = Date.now();
  const see = () => {
    seen = Date.now();
  };
  for (const sign of SIGNS) browser.addEventListener(sign, see, { capture: true, passive: true });
  let press: Press | undefined;
  const release = () => {
    const ended = press;
    // The click comes right after the release.
    if (ended !== undefined) setTimeout(ended.end);
  };
  browser.addEventListener('pointerdown', () => (press ??= startPress(() => (press = undefined))), { capture: true });
  for (const end of ['pointerup', 'pointercancel', 'dragend'] as const) browser.addEventListener(end, release, { capture: true });
  return {
    pressed: () => press !== undefined,
    released: () => press?.ended ?? Promise.resolve(),
    here: () => browser.document.visibilityState === 'visible' && Date.now() - seen < LEFT_AFTER_MS,
  };
}

interface Press {
  readonly ended: Promise<void>;
  readonly end: () => void;
}

function startPress(onEnd: () => void): Press {
  let resolve: () => void = () => undefined;
  const ended = new Promise<void>((done) => (resolve = done));
  const end = () => {
    clearTimeout(longest);
    onEnd();
    resolve();
  };
  const longest = setTimeout(end, LONGEST_PRESS_MS);
  return { ended, end };
}
