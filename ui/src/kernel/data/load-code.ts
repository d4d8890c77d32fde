import { isUnloaded } from '#ui/src/kernel/problem.ts';

const AGAIN_MS = 1_000;

/** What `load` imports, tried once more when the network lost it. */
export async function loadCode<T>(load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (fault) {
    if (!isUnloaded(fault)) throw fault;
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
    await loadStyles();
    return load();
  }
}

/** Vite asks for a style sheet once: without this, a page whose sheet was lost would come without it the second time. */
async function loadStyles(): Promise<void> {
  const lost = [...document.querySelectorAll<HTMLLinkElement>('link[rel=stylesheet]')].filter(({ sheet }) => sheet === null);
  await Promise.all(
    lost.map((link) => {
      const again = document.createElement('link');
      again.rel = 'stylesheet';
      again.crossOrigin = link.crossOrigin;
      again.href = link.href;
      link.replaceWith(again);
      return new Promise<void>((resolve, reject) => {
        again.addEventListener('load', () => resolve());
        again.addEventListener('error', () => reject(new Error(`Unable to preload CSS for ${again.href}`)));
      });
    }),
  );
}
