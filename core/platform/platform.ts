import { createHmac, randomBytes } from 'node:crypto';
import type { Env } from '#core/process/env.ts';
import type { Announcement } from '#core/contract/announcements.ts';
import type { Kv } from '#core/cluster/kv.ts';
import type { Log } from '#core/process/log.ts';
import { createKeyring, type Keyring } from '#core/lib/secrets.ts';
import { withTimeout } from '#core/lib/with-timeout.ts';
import { dialPolicy } from '#core/engines/shared/policy.ts';
import type { DialPolicy } from '#core/engines/shared/source.ts';
import { readMeta, writeMeta } from '#core/store/meta.ts';
import type { Store } from '#core/store/store.ts';
import type { Guard } from '#core/lib/prompt-guard/guard.ts';
import { type Waits, WAITS } from './waits.ts';

export interface PlatformOptions {
  readonly env: Env;
  readonly store: Store;
  readonly kv: Kv;
  readonly log: Log;
  readonly clock: () => Date;
  readonly ids: () => string;
  /** Whether deployed versions are written to `SVC_GENERATED_DIR` as projects, each by a program of its own; absent: they are. */
  readonly writes_projects?: boolean;
  /** How long others are waited for, where it is not the standard. */
  readonly waits?: Waits;
}

/** What all server code runs on. */
export interface Platform extends PlatformOptions {
  readonly waits: Waits;
  readonly keyring: Keyring;
  /** Names this installation to its hosts: the same for every server of its metadata database. */
  readonly installation_id: string;
  readonly policy: DialPolicy;
  /** The prompt guard of the present settings. */
  readonly guards: Map<string, Guard>;
  /** What is to be announced to open pages in a moment. */
  readonly announced: Set<Announcement>;
  /** Of this process: whether it ends, and how many requests it answers now. */
  readonly life: { ending: boolean; answering: number };
  /** Work that no caller waits for; `close` does. */
  background(work: Promise<void>): void;
  /** Waits; no longer than until the app closes. */
  sleep(ms: number): Promise<void>;
  close(): Promise<void>;
}

/** What nobody waits for may end by itself for so long. */
const BACKGROUND_MS = 2_500;

/** What the rooms above give to the platform. */
export interface PlatformUse {
  /** Addresses of our own that no connection may reach. */
  forbidden(): ReturnType<NonNullable<DialPolicy['forbiddenNow']>>;
  /** Ends what work in the background may wait for. */
  closeFirst(): Promise<void>;
  /** Ends the rest, before the stores are closed. */
  closeLast(): Promise<void>;
}

export async function createPlatform(options: PlatformOptions, use: PlatformUse): Promise<Platform> {
  const { waits = WAITS } = options;
  const { keyring, installation_id } = await openKeyring(options);
  const policy: DialPolicy = { ...dialPolicy(options.env), forbiddenNow: () => use.forbidden() };
  const working = new Set<Promise<void>>();
  const closing = new AbortController();
  return {
    ...options,
    waits,
    keyring,
    installation_id,
    policy,
    guards: new Map(),
    announced: new Set(),
    life: { ending: false, answering: 0 },
    background(work) {
      const watched = work.finally(() => working.delete(watched));
      working.add(watched);
    },
    sleep: (ms) => sleepUntil(ms, closing.signal),
    async close() {
      closing.abort();
      await use.closeFirst();
      await withTimeout(Promise.allSettled(working), BACKGROUND_MS, () =>
        options.log.warning('work in the background was cut off'),
      );
      await use.closeLast();
      await options.kv.close();
      await options.store.close();
    },
  };
}

/** The fingerprint key is made once and kept in the metadata database, always sealed with the first key of the ring. */
async function openKeyring({ env, store }: PlatformOptions): Promise<Pick<Platform, 'keyring' | 'installation_id'>> {
  const { meta } = store.tables;
  const bootstrap = createKeyring(env.SVC_ENCRYPTION_KEY, new Uint8Array(32));
  const place = 'meta/fingerprint_key';
  const plain = await store.write(async (tx) => {
    const fresh = bootstrap.seal(randomBytes(32).toString('hex'), place);
    await tx.insert(meta).values({ key: 'fingerprint_key', value: fresh }).onConflictDoNothing();
    const sealed = (await readMeta(store, tx, 'fingerprint_key')) ?? fresh;
    const opened = bootstrap.open(sealed, place);
    if (bootstrap.stale(sealed)) await writeMeta(store, tx, 'fingerprint_key', bootstrap.seal(opened, place));
    return opened;
  });
  const fingerprint_key = Buffer.from(plain, 'hex');
  const installation_id = createHmac('sha256', fingerprint_key).update('installation').digest('base64url').slice(0, 22);
  return { keyring: createKeyring(env.SVC_ENCRYPTION_KEY, fingerprint_key), installation_id };
}

/** Leaves nothing behind: a race with a promise that lives as long as the program would, each time. */
function sleepUntil(ms: number, end: AbortSignal): Promise<void> {
  if (end.aborted) return Promise.resolve();
  const { promise, resolve } = Promise.withResolvers<void>();
  const finish = () => {
    clearTimeout(timer);
    end.removeEventListener('abort', finish);
    resolve();
  };
  const timer = setTimeout(finish, ms);
  end.addEventListener('abort', finish, { once: true });
  return promise;
}
