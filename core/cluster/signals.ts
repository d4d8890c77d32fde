import type { App } from '#core/app.ts';
import { fingerprintOf } from '#core/lib/secrets.ts';

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
  | 'decision';

/** Other installations may use the same Redis. */
const channelOf = ({ keyring }: App, signal: Signal): string =>
  `${signal}:${fingerprintOf(keyring.seal(signal, 'installation/channel'))}`;

export const signal = (app: App, name: Signal, message = ''): Promise<void> => app.kv.publish(channelOf(app, name), message);

/** @returns a function that ends it. */
export function onSignal(app: App, name: Signal, listener: (message: string) => void): () => void {
  let ended = false;
  const subscribed = app.kv.subscribe(channelOf(app, name), (message) => {
    if (!ended) listener(message);
  });
  return () => {
    ended = true;
    app.background(subscribed.then((end) => end()));
  };
}
