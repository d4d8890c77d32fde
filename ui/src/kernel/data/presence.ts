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
/** What a person left for longer than this is read again when they are back: nothing polls for who is away, or on a computer that sleeps. */
const AWAY_MS = 5 * 60_000;
/** A scroll bar and a context menu swallow the release. */
const LONGEST_PRESS_MS = 2_000;
const SIGNS = ['pointerdown', 'pointermove', 'keydown', 'wheel', 'focus'] as const;

/** @param onReturn what is shown may be old: the person was away, or the browser had stopped the page. */
export function createPresence(browser: Window, onReturn: () => void = () => undefined): Presence {
  let seen = Date.now();
  const see = () => {
    const was_away = Date.now() - seen > AWAY_MS;
    seen = Date.now();
    if (was_away) onReturn();
  };
  for (const sign of SIGNS) browser.addEventListener(sign, see, { capture: true, passive: true });
  browser.document.addEventListener('visibilitychange', () => {
    if (browser.document.visibilityState === 'visible') see();
  });
  // Frozen in the background, or kept for the way back: no timer ran and no answer came.
  browser.document.addEventListener('resume', onReturn);
  browser.addEventListener('pageshow', ({ persisted }) => {
    if (persisted) onReturn();
  });
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
