import type { RequestContext } from '#core/context/context.ts';
import type { Platform } from '#core/platform/platform.ts';
import { refuseAbandoned, throwIfAbandoned } from '#core/lib/abandoned.ts';
import type { TurnRequest } from '#core/store/store.ts';
import type { TurnLock } from '#core/store/turns.ts';

/** The request that the work belongs to. Its work is not begun once the client has disconnected. */
type Requester = Partial<Pick<RequestContext, 'actor' | 'signal'>>;

type LockApp = Platform & WithDeployLock;

/**
 * Runs deploys one after the other, across all servers of the database. Throws `conflict` with the name of the holder after
 * `waits.turn_ms`.
 */
export const exclusively = <T>(app: LockApp, work: () => Promise<T>, requester: Requester = {}): Promise<T> =>
  inTurn(app, app.deploy_lock, work, { turn: 'deploy', ...toRequest(app, requester) }, requester);

/** Whether a deploy runs, on any server. */
export const isDeploying = async (app: LockApp): Promise<boolean> => app.deploy_lock.busy() || (await app.store.isTaken());

/** Changes what is served, one change at a time. Checks run before, so stopping the server does not wait for them. */
export const inSwitch = <T>(app: LockApp, work: () => Promise<T>, requester: Requester): Promise<T> =>
  inTurn(app, app.switch_lock, work, { turn: 'switch', ...toRequest(app, requester) }, requester);

/** A change that goes ahead of waiting deploys: stopping the server, and serving an earlier version again. */
export const inUrgentSwitch = <T>(app: LockApp, work: () => Promise<T>, requester: Requester): Promise<T> =>
  inTurn(app, app.switch_lock, work, { turn: 'switch', urgent: true, ...toRequest(app, requester) }, requester);

const toRequest = ({ waits }: Platform, { actor, signal }: Requester): Omit<TurnRequest, 'turn'> => ({
  by: actor?.name ?? 'system',
  wait_ms: waits.turn_ms,
  signal,
});

/** A client that disconnects within this time before its work begins may find it done. */
const CHECKED_MS = 20;

function inTurn<T>(
  app: Platform,
  lock: TurnLock,
  work: () => Promise<T>,
  request: TurnRequest,
  { signal }: Requester,
): Promise<T> {
  const started = performance.now();
  const begin = async () => {
    // Without a wait the request was checked a moment ago.
    if (performance.now() - started < CHECKED_MS) throwIfAbandoned(signal);
    else await refuseAbandoned(signal);
    return work();
  };
  return lock(() => {
    const wait_ms = Math.max(0, app.waits.turn_ms - (performance.now() - started));
    return app.store.exclusive(begin, { ...request, wait_ms });
  }, request);
}

export interface WithDeployLock {
  readonly deploy_lock: TurnLock;
  readonly switch_lock: TurnLock;
  /** Deploys that run or wait, by the id of their token. */
  readonly waiting_deploys: Map<string, number>;
}
