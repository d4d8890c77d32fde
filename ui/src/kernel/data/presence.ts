/** Whether a person is looking: nothing is asked repeatedly for a hidden page, or to keep the session of somebody who left alive. */
export interface Presence {
  readonly here: () => boolean;
}

const LEFT_AFTER_MS = 15 * 60_000;
const SIGNS = ['pointerdown', 'pointermove', 'keydown', 'wheel', 'focus'] as const;

export function createPresence(browser: Window): Presence {
  let seen = Date.now();
  const see = () => {
    seen = Date.now();
  };
  for (const sign of SIGNS) browser.addEventListener(sign, see, { capture: true, passive: true });
  return { here: () => browser.document.visibilityState === 'visible' && Date.now() - seen < LEFT_AFTER_MS };
}
