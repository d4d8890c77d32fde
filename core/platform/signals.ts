import type { Platform } from '#core/platform/platform.ts';
import { reasonOf } from '#core/process/log.ts';
import { fingerprintOf, openOrNull } from '#core/lib/secrets.ts';

/**
 * What servers of one installation call out to each other. A signal may be lost: it says that something is to be looked at, and
 * who misses it looks a little later.
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

/** Other installations may use the same Redis. */
const channelOf = ({ keyring }: Platform, signal: Signal): string =>
  `${signal}:${fingerprintOf(keyring.seal(signal, 'installation/channel'))}`;

/** Clocks of servers differ by less. */
const OLD_MS = 10 * 60_000;
const placeOf = (name: Signal): string => `signal/${name}`;

/** Sealed with its name and time: who can publish in Redis can neither make a message nor send an old one again. */
export function signal(app: Platform, name: Signal, message = ''): Promise<void> {
  const sent = JSON.stringify([app.clock().getTime(), message] satisfies Sent);
  return app.kv.publish(channelOf(app, name), app.keyring.seal(sent, placeOf(name)));
}

type Sent = readonly [at: number, message: string];

/** Null: it is not of this installation, or of long ago. */
function openSignal({ keyring, clock, log }: Platform, name: Signal, text: string): string | null {
  const opened = openOrNull(keyring, text, placeOf(name));
  const [at, message] = opened === null ? [Number.NaN, ''] : (JSON.parse(opened) as Sent);
  if (Math.abs(clock().getTime() - at) <= OLD_MS) return message;
  log.debug('a message in Redis was ignored', { name, reason: opened === null ? 'not sealed by this installation' : 'old' });
  return null;
}

/** @returns a function that ends it. */
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
