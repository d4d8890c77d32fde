import { type Log, reasonOf } from '#core/process/log.ts';

/**
 * Runs work that follows a commit. A failure is only logged, because the change is stored and a client that receives an error
 * would send it again. @returns null if the work failed.
 */
export async function afterCommit<T>({ log }: { readonly log: Log }, what: string, work: () => Promise<T>): Promise<T | null> {
  try {
    return await work();
  } catch (error) {
    log.warning(`${what} failed after a change was stored`, { reason: reasonOf(error) });
    return null;
  }
}
