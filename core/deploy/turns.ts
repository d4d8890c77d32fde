import type { Lock } from '#core/store/open.ts';
import type { Platform } from '#core/platform/platform.ts';

/** Deploys one after the other, over every server of the database. */
export const exclusively = <T>(app: Platform & WithDeployLock, work: () => Promise<T>): Promise<T> =>
  app.deploy_lock(() => app.store.exclusive(work));

export interface WithDeployLock {
  readonly deploy_lock: Lock;
  readonly switch_lock: Lock;
  readonly waiting_deploys: Map<string, number>;
}
