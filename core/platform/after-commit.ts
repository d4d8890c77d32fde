import { type Log, reasonOf } from '#core/process/log.ts';

/**
 * Work that follows a commit. The change is stored whatever comes of it, so a failure is logged and the answer stays: a caller that
 * reads of a failure sends the change again. @returns null when it failed.
 */
export async function afterCommit<T>({ log }: { readonly log: Log }, what: string, work: () => Promise<T>): Promise<T | null> {
  try {
    return await work();
  } catch (error) {
    log.warning(`${what} failed after a change was stored`, { reason: reasonOf(error) });
    return null;
  }
}
