/** What to do once after the last file of this process, by preload.ts: files that share a process share what is removed here. */
export const atEnd: (() => Promise<unknown> | void)[] = [];
