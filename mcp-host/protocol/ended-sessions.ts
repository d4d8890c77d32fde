import { appendFile, readFile } from 'node:fs/promises';
import { writeFileAtomic } from '#core/lib/durable-file.ts';
import type { Log } from '#core/log.ts';
import { quickHash } from '#mcp-host/runtime/runtime.ts';

/** Sessions that ended: their ids are signed, so without this list they would be taken for those of another host. */
export interface EndedSessions {
  has(id: string): boolean;
  /** Remembers it as long as this host runs. */
  add(id: string): void;
  /** Remembers it beyond a restart too: its client ended it. */
  keep(id: string): void;
  /** Takes the list on disk. */
  load(): Promise<void>;
}

export interface EndedSessionsOptions {
  readonly now: () => number;
  /** Ids are taken on no longer than this after they were given out. */
  readonly lasts_ms: number;
  /** Where those that were ended are kept; absent: nowhere. */
  readonly path?: string | undefined;
  readonly log?: Log;
}

const MOST = 20_000;

/** Hashes of ids, which take a twentieth of the memory. On disk each has a line of its own, with its time. */
export function createEndedSessions({ now, lasts_ms, path, log }: EndedSessionsOptions): EndedSessions {
  const ended = new Set<number>();
  let writing: Promise<void> = Promise.resolve();
  const add = (hash: number) => {
    ended.add(hash);
    const [oldest] = ended;
    if (ended.size > MOST && oldest !== undefined) ended.delete(oldest);
  };
  const failed = (error: unknown) => log?.error('ended_sessions_not_kept', { error: String(error) });
  return {
    has: (id) => ended.has(quickHash(id)),
    add: (id) => add(quickHash(id)),
    keep(id) {
      add(quickHash(id));
      if (path === undefined) return;
      const line = `${quickHash(id)} ${now()}\n`;
      writing = writing.then(() => appendFile(path, line, { mode: 0o600 })).catch(failed);
    },
    async load() {
      if (path === undefined) return;
      const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'ENOENT') failed(error);
        return '';
      });
      const since = now() - lasts_ms;
      const lines = text.split('\n').filter((line) => Number(line.split(' ')[1]) > since);
      const recent = lines.slice(-MOST);
      for (const line of recent) add(Number(line.split(' ')[0]));
      if (text !== '') await writeFileAtomic(path, recent.map((line) => `${line}\n`).join('')).catch(failed);
    },
  };
}
