import { createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto';
import { beginning } from '#core/lib/text/shorten.ts';
import { appendFile, readFile } from 'node:fs/promises';
import { writeFileAtomic } from '#core/lib/durable-file.ts';
import type { SavedCopies } from '#core/lib/saved-copies.ts';
import type { Log } from '#core/process/log.ts';
import { quickHash } from '#mcp-host/runtime/runtime.ts';

/** Capabilities that a client declared when it opened its session. */
export interface ClientCan {
  /** The client shows forms. */
  readonly shows_forms: boolean;
  /** The client shows no forms, but opens a page for its person. */
  readonly opens_pages: boolean;
  /** The client draws results (MCP Apps). */
  readonly draws_views: boolean;
}

/** The facts of a session that its id carries. */
export interface SessionFacts extends ClientCan {
  readonly opened_at: number;
  readonly version: string;
  readonly client: string;
}

/** Ids that any host of the installation can verify, so that it can adopt a session that another host opened. */
export interface SessionIds {
  issue(owner: string, facts: SessionFacts): string;
  /** The facts of an id; null unless one of the keys signed it for this owner. */
  read(id: string, owner: string): SessionFacts | null;
}

/** Bits of the client's capabilities. */
const [FORMS, VIEWS, PAGES] = [1, 2, 4];
const RANDOM_BYTES = 16;
const MAC_BYTES = 32;
const LONGEST_CLIENT = 64;
const LONGEST_ID = 512;

/** @param keys `SVC_ENCRYPTION_KEY`: the first one signs, every one verifies. Without keys, ids are valid on this host only. */
export function createSessionIds(keys: readonly string[]): SessionIds {
  const ring = keys.length === 0 ? [randomBytes(32)] : keys.map(toKey);
  const mac = (key: Buffer, owner: string, body: string) => createHmac('sha256', key).update(`${owner}\0${body}`).digest();
  return {
    issue(owner, { opened_at, version, client, shows_forms, opens_pages, draws_views }) {
      const can = (shows_forms ? FORMS : 0) + (draws_views ? VIEWS : 0) + (opens_pages ? PAGES : 0);
      const members = [opened_at, version, beginning(client, LONGEST_CLIENT), ...(can === 0 ? [] : [can])];
      const facts = Buffer.from(JSON.stringify(members)).toString('base64url');
      const body = `${randomBytes(RANDOM_BYTES).toString('base64url')}.${facts}`;
      const [key] = ring;
      return key === undefined ? '' : `${body}.${mac(key, owner, body).toString('base64url')}`;
    },
    read(id, owner) {
      if (id.length > LONGEST_ID) return null;
      const [random, facts, signature] = id.split('.');
      if (random === undefined || facts === undefined || signature === undefined) return null;
      const given = Buffer.from(signature, 'base64url');
      const body = `${random}.${facts}`;
      if (given.length !== MAC_BYTES || !ring.some((key) => timingSafeEqual(mac(key, owner, body), given))) return null;
      const read = JSON.parse(Buffer.from(facts, 'base64url').toString()) as [number, string, string, number?];
      const [opened_at, version, client, can = 0] = read;
      const has = (bit: number): boolean => (can & bit) !== 0;
      const abilities = { shows_forms: has(FORMS), opens_pages: has(PAGES), draws_views: has(VIEWS) };
      return { opened_at, version, client, ...abilities };
    },
  };
}

const toKey = (key: string): Buffer => Buffer.from(hkdfSync('sha256', key, 'sluice', 'mcp-sessions/1', 32));

/** Ended sessions. Their ids stay validly signed, so without this list the host would adopt them as sessions of another host. */
export interface EndedSessions {
  has(id: string): boolean;
  /** Remembers an id while this host runs. */
  add(id: string): void;
  /** Remembers an id after a restart too, because its client ended the session. */
  keep(id: string): void;
  /** Loads the list from disk. */
  load(): Promise<void>;
}

export interface EndedSessionsOptions {
  readonly now: () => number;
  /** Ids are adopted no longer than this after they were issued. */
  readonly lasts_ms: number;
  /** File for ended sessions; absent: they are not stored. */
  readonly file?: { readonly path: string; readonly copies: Pick<SavedCopies, 'save'>; readonly log: Log } | undefined;
}

const COPY = 'The list of ended sessions';
const MOST = 20_000;
/** Characters that wait for room on the disk. */
const MOST_UNSAVED = 1_000_000;

/** Stores hashes of ids, which take a twentieth of the memory. The file has one line per hash, with its time. */
export function createEndedSessions({ now, lasts_ms, file }: EndedSessionsOptions): EndedSessions {
  const ended = new Set<number>();
  /** Lines that are not in the file yet. */
  let unsaved = '';
  const add = (hash: number) => {
    ended.add(hash);
    const [oldest] = ended;
    if (ended.size > MOST && oldest !== undefined) ended.delete(oldest);
  };
  const write = async (path: string): Promise<void> => {
    const lines = unsaved;
    unsaved = '';
    try {
      if (lines !== '') await appendFile(path, lines, { mode: 0o600 });
    } catch (error) {
      unsaved = lines + unsaved;
      throw error;
    }
  };
  return {
    has: (id) => ended.has(quickHash(id)),
    add: (id) => add(quickHash(id)),
    keep(id) {
      add(quickHash(id));
      if (file === undefined) return;
      const { path, copies } = file;
      if (unsaved.length < MOST_UNSAVED) unsaved += `${quickHash(id)} ${now()}\n`;
      void copies.save(COPY, () => write(path));
    },
    async load() {
      if (file === undefined) return;
      const { path, copies, log } = file;
      const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'ENOENT') log.error('ended_sessions_file_damaged', { error: String(error) });
        return '';
      });
      const since = now() - lasts_ms;
      const lines = text.split('\n').filter((line) => Number(line.split(' ')[1]) > since);
      const recent = lines.slice(-MOST);
      for (const line of recent) add(Number(line.split(' ')[0]));
      if (text === '') return;
      await copies.save(COPY, () => writeFileAtomic(path, recent.map((line) => `${line}\n`).join('')));
    },
  };
}
