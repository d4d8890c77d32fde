import type { Platform } from '#core/platform/platform.ts';
import { reasonOf } from '#core/process/log.ts';
import { fingerprintOf, openOrNull } from '#core/lib/secrets.ts';

/**
 * Signals between the servers of one installation. A signal can be lost: it only says that data has changed, and each server also
 * checks that data periodically.
 */
export type Signal =
  | 'deployment'
  | 'tokens'
  | 'names'
  | 'hosts'
  | 'lines'
  | 'lists'
  | 'certificate'
  | 'identity'
  | 'canary'
  | 'replay'
  | 'cancel'
  | 'decision'
  | 'announced';

/** One channel per installation, because several can share a Redis. */
const channelOf = ({ keyring }: Platform, signal: Signal): string =>
  `${signal}:${fingerprintOf(keyring.seal(signal, 'installation/channel'))}`;

/** Maximum age of a signal, above the clock difference between servers. */
const OLD_MS = 10 * 60_000;
const pathOf = (name: Signal): string => `signal/${name}`;

/**
 * Seals the message with its name and time: anyone who can publish in Redis can neither forge a message nor replay an old one.
 */
export function signal(app: Platform, name: Signal, message = ''): Promise<void> {
  const sent = JSON.stringify([app.clock().getTime(), message] satisfies Sent);
  return app.kv.publish(channelOf(app, name), app.keyring.seal(sent, pathOf(name)));
}

type Sent = readonly [at: number, message: string];

/** Returns null if the message is old or was not sealed by this installation. */
function openSignal({ keyring, clock, log }: Platform, name: Signal, text: string): string | null {
  const opened = openOrNull(keyring, text, pathOf(name));
  const [at, message] = opened === null ? [Number.NaN, ''] : (JSON.parse(opened) as Sent);
  if (Math.abs(clock().getTime() - at) <= OLD_MS) return message;
  log.debug('a message in Redis was ignored', { name, reason: opened === null ? 'not sealed by this installation' : 'old' });
  return null;
}

/** @returns a function that unsubscribes. */
export function onSignal(app: Platform, name: Signal, listener: (message: string) => void): () => void {
  let ended = false;
  const subscribed = app.kv.subscribe(channelOf(app, name), (text) => {
    const message = ended ? null : openSignal(app, name, text);
    if (message === null) return;
    try {
      listener(message);
    } catch (error) {
      app.log.warning('a message from another server was not understood', { name, reason: reasonOf(error) });
    }
  });
  return () => {
    ended = true;
    app.background(subscribed.then((end) => end()));
  };
}
