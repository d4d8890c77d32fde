import type { App } from '#core/platform/platform.ts';

/** Deploys one after the other, over every server of the database. */
export const inTurn = <T>(app: App, work: () => Promise<T>): Promise<T> => app.deploy_lock(() => app.store.exclusive(work));
