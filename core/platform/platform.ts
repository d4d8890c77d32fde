import type { Env } from '#core/process/env.ts';
import type { Kv } from '#core/cluster/kv.ts';
import type { Log } from '#core/process/log.ts';
import type { Store } from '#core/store/store.ts';
import type { Announcement } from '#core/contract/announcements.ts';
import { type Keyring, createKeyring, type SecretReader } from '#core/lib/secrets.ts';
import { createSecretRefs } from '#core/process/secret-refs/secret-refs.ts';
import { secretSources } from '#core/process/secret-refs/secret-sources.ts';
import type { DialPolicy } from '#core/engines/shared/source.ts';
import type { Guard } from '#core/lib/prompt-guard/guard.ts';
import { withTimeout } from '#core/lib/with-timeout.ts';
import { dialPolicy } from '#core/engines/shared/policy.ts';
import { createHmac, randomBytes } from 'node:crypto';
import { readMeta, writeMeta } from '#core/store/meta.ts';

/** Timeouts of the server for other systems, in milliseconds. */
export interface Waits {
  /** For the responses of hosts during a deploy, and for each host to open a new address or to load a candidate. */
  readonly hosts_ms: number;
  /** For a request to an identity provider, including its body. */
  readonly provider_ms: number;
  /** For the metadata document of an OAuth client. */
  readonly client_document_ms: number;
  /** For the test of a connection. */
  readonly connection_test_ms: number;
  /** For the deploys or changes of the served version that are ahead of another. */
  readonly turn_ms: number;
}

export const WAITS: Waits = {
  hosts_ms: 5_000,
  provider_ms: 5_000,
  client_document_ms: 5_000,
  connection_test_ms: 10_000,
  turn_ms: 30_000,
};

export interface PlatformOptions {
  readonly env: Env;
  readonly store: Store;
  readonly kv: Kv;
  readonly log: Log;
  readonly clock: () => Date;
  readonly ids: () => string;
  /** False: deployed versions are not written to `SVC_GENERATED_DIR` as projects. */
  readonly writes_projects?: boolean;
  /** False: the encryption key is not used, so no stored secret can be opened, and nothing may be written. */
  readonly opens_secrets?: boolean;
  /** Timeouts that differ from the defaults. */
  readonly waits?: Waits;
}

/** The services that all server code runs on. */
export interface Platform extends PlatformOptions {
  readonly waits: Waits;
  readonly keyring: Keyring;
  /** Opens sealed secrets and reads references. */
  readonly secrets: SecretReader;
  /** Identifies the installation to its hosts; the same for all servers of one metadata database. */
  readonly installation_id: string;
  readonly policy: DialPolicy;
  /** Prompt guards of the current settings. */
  readonly guards: Map<string, Guard>;
  /** Pending announcements to open pages. */
  readonly announced: Set<Announcement>;
  /** State of this process: whether it is shutting down, and how many requests are in progress. */
  readonly life: { ending: boolean; answering: number };
  /** Registers work that no caller waits for; `close` waits for it. */
  background(work: Promise<void>): void;
  /** Resolves after this time or when the app closes. */
  sleep(ms: number): Promise<void>;
  close(): Promise<void>;
}

/** Maximum time that `close` waits for background work. */
const BACKGROUND_MS = 2_500;

/** Hooks that the rooms above provide. */
export interface PlatformUse {
  /** Addresses of Sluice itself, which connections must not reach. */
  forbidden(): ReturnType<NonNullable<DialPolicy['forbiddenNow']>>;
  /** Cache lifetime of secrets that references name, in seconds. */
  secretTtl(): Promise<number>;
  /** Ends the waits of background work. */
  closeFirst(): Promise<void>;
  /** Releases everything else before the stores close. */
  closeLast(): Promise<void>;
}

export async function createPlatform(options: PlatformOptions, use: PlatformUse): Promise<Platform> {
  const { waits = WAITS } = options;
  const { keyring, installation_id } = options.opens_secrets === false ? closedKeyring() : await openKeyring(options);
  const policy: DialPolicy = { ...dialPolicy(options.env), forbiddenNow: () => use.forbidden() };
  const working = new Set<Promise<void>>();
  const closing = new AbortController();
  return {
    ...options,
    waits,
    keyring,
    secrets: {
      open: (sealed, path) => keyring.open(sealed, path),
      resolve: createSecretRefs({ ...secretSources(options.env), ttl_seconds: () => use.secretTtl(), log: options.log }),
    },
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

/** Creates the fingerprint key once. It is stored in the metadata database, encrypted with the first key of the ring. */
async function openKeyring({ env, store }: PlatformOptions): Promise<Pick<Platform, 'keyring' | 'installation_id'>> {
  const { meta } = store.tables;
  const bootstrap = createKeyring(env.SVC_ENCRYPTION_KEY, new Uint8Array(32));
  const path = 'meta/fingerprint_key';
  const plain = await store.write(async (tx) => {
    const fresh = bootstrap.seal(randomBytes(32).toString('hex'), path);
    await tx.insert(meta).values({ key: 'fingerprint_key', value: fresh }).onConflictDoNothing();
    const sealed = (await readMeta(store, tx, 'fingerprint_key')) ?? fresh;
    const opened = bootstrap.open(sealed, path);
    if (bootstrap.stale(sealed)) await writeMeta(store, tx, 'fingerprint_key', bootstrap.seal(opened, path));
    return opened;
  });
  const fingerprint_key = Buffer.from(plain, 'hex');
  const installation_id = createHmac('sha256', fingerprint_key).update('installation').digest('base64url').slice(0, 22);
  return { keyring: createKeyring(env.SVC_ENCRYPTION_KEY, fingerprint_key), installation_id };
}

/** A keyring that opens nothing of what is stored. */
const closedKeyring = (): Pick<Platform, 'keyring' | 'installation_id'> => ({
  keyring: createKeyring([randomBytes(32).toString('hex')], randomBytes(32)),
  installation_id: '',
});

/** Not `Promise.race`, which would leak with an abort signal that lives as long as the program. */
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
