import type { Platform } from './platform.ts';
import type { Announcement } from '#core/contract/announcements.ts';
import { signal, onSignal } from './signals.ts';

/** Announcements within this time are combined. */
const TOGETHER_MS = 250;

export function announce(app: Platform, what: Announcement): void {
  const is_first = app.announced.size === 0;
  app.announced.add(what);
  if (is_first) app.background(tellSoon(app));
}

async function tellSoon(app: Platform): Promise<void> {
  await app.sleep(TOGETHER_MS);
  const all = [...app.announced];
  app.announced.clear();
  await signal(app, 'announced', JSON.stringify(all)).catch(() => undefined);
}

/** Signals that are also announced. */
const SIGNALLED = { hosts: 'hosts', deployment: 'hosts', canary: 'canary', certificate: 'ssl' } as const;

/** Subscribes to the announcements of all servers of the installation. @returns a function that unsubscribes. */
export function onAnnounced(app: Platform, listener: (all: readonly Announcement[]) => void): () => void {
  const ends = [
    onSignal(app, 'announced', (text) => listener(JSON.parse(text) as Announcement[])),
    ...Object.entries(SIGNALLED).map(([name, what]) => onSignal(app, name as keyof typeof SIGNALLED, () => listener([what]))),
  ];
  return () => {
    for (const end of ends) end();
  };
}
