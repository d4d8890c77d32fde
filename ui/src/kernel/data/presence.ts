/**
 * Whether a person is looking at the page: a hidden page does not poll, and neither does an idle one, since that would extend the
 * session.
 */
export interface Presence {
  readonly here: () => boolean;
  /**
   * Resolves at once, or after the current press and its click have ended: automatic list updates wait for it, because a click is lost
   * when its target moves or unmounts.
   */
  readonly released: () => Promise<void>;
  readonly pressed: () => boolean;
}

const LEFT_AFTER_MS = 15 * 60_000;
/** After a longer absence, everything reloads: there is no polling while the person is away or the computer sleeps. */
const AWAY_MS = 5 * 60_000;
/** Scroll bars and context menus swallow the release. */
const LONGEST_PRESS_MS = 2_000;
const SIGNS = ['pointerdown', 'pointermove', 'keydown', 'wheel', 'focus'] as const;

/** @param onReturn called when the data may be outdated: after an absence, or after the browser froze the page. */
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
  // The page was frozen in the background or in the back/forward cache: no timers ran and no answers arrived.
  browser.document.addEventListener('resume', onReturn);
  browser.addEventListener('pageshow', ({ persisted }) => {
    if (persisted) onReturn();
  });
  let press: Press | undefined;
  const release = () => {
    const ended = press;
    // The click follows right after the release.
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
