import { createHmac, randomBytes } from 'node:crypto';
import type { Env } from '#core/process/env.ts';
import type { DecisionNews } from '#core/contract/deploy/control.ts';
import { createHostRegistry, type HostRegistry } from '#core/hosts/host-registry.ts';
import type { Announcement } from './announcements.ts';
import type { Kv } from '#core/cluster/kv.ts';
import type { Log } from '#core/process/log.ts';
import type { PasswordWork } from '#core/identity/passwords.ts';
import { createKeyring, type Keyring } from '#core/lib/secrets.ts';
import { withTimeout } from '#core/lib/with-timeout.ts';
import { createSourcePool, type SourcePool } from '#core/sources/source-pool.ts';
import { dialPolicy, hostAddresses } from '#core/engines/shared/policy.ts';
import type { DialPolicy } from '#core/engines/shared/source.ts';
import { readMeta, writeMeta } from '#core/store/meta.ts';
import { createLock, type Lock } from '#core/store/open.ts';
import type { Store } from '#core/store/store.ts';
import type { Guard } from '#core/lib/prompt-guard/guard.ts';
import { readSettings } from '#core/settings/settings.ts';
import { type Countries, createCountries } from '#core/observe/countries.ts';
import { createWorkingCopyHolder, type WorkingCopyHolder } from '#core/versions/working-copy.ts';
import { createReplayDesk, type ReplayDesk } from '#core/deploy/replay-calls.ts';
import { createSnapshotCache, type SnapshotCache } from '#core/versions/stored-snapshots.ts';
import { createInsightCache, type InsightCache } from '#core/observe/insights/usage-of-period.ts';
import type { AskedStatements } from '#core/deploy/checks/describe-again.ts';
import { createLintIndex, type LintIndex } from '#core/definitions/lint/lint-index.ts';
import type { Pending } from '#core/deploy/pending.ts';
import { createOverlays, type Overlays } from '#core/proposals/overlays.ts';
import { createProviderLink, type ProviderLink } from '#core/identity/providers/metadata.ts';
import { type Waits, WAITS } from './waits.ts';
import type { ClientDocument, FetchDocument } from '#core/identity/oauth/clients/documents.ts';

export interface AppOptions {
  readonly env: Env;
  readonly store: Store;
  readonly kv: Kv;
  readonly log: Log;
  readonly clock: () => Date;
  readonly ids: () => string;
  /** What hashing a new password costs; absent: the standard. */
  readonly password_work?: PasswordWork;
  /** Whether deployed versions are written to `SVC_GENERATED_DIR` as projects, each by a program of its own; absent: they are. */
  readonly writes_projects?: boolean;
  /** How long others are waited for, where it is not the standard. */
  readonly waits?: Waits;
  /** How the metadata document of an OAuth client is fetched; by default from public addresses alone, through the address guard. */
  readonly fetch_document?: FetchDocument;
}

/** The whole product without its edges: what handlers work with. */
export interface App extends AppOptions {
  readonly waits: Waits;
  readonly keyring: Keyring;
  /** Names this installation to its hosts: the same for every server of its metadata database. */
  readonly installation_id: string;
  readonly policy: DialPolicy;
  readonly sources: SourcePool;
  readonly hosts: HostRegistry;
  /** What is asked of identity providers. */
  readonly providers: ProviderLink;
  /** Where callers are; opened when it is first asked. */
  readonly countries: Countries;
  /** Deploys, stops and activations take turns, over every server of the database. */
  readonly deploy_lock: Lock;
  /** What is served changes in turns: a stop waits for no check of a deploy. */
  readonly switch_lock: Lock;
  /** Deploys of each token that run or wait. */
  readonly waiting_deploys: Map<string, number>;
  /** Runs of tests that each caller has under way. */
  readonly test_runs: Map<string, number>;
  /** Generated projects are written one after the other. */
  readonly generated_lock: Lock;
  /** Lists of access tokens are read and sent one after the other. */
  readonly token_lock: Lock;
  /** The prompt guard of the present settings. */
  readonly guards: Map<string, Guard>;
  /** The configuration as it is stored now, frozen. */
  readonly working_copy: WorkingCopyHolder;
  /** What waits for a deploy, worked out last. */
  pending: Pending | null;
  /** Tokens that each frozen tool takes in a list, by its hash. */
  tool_tokens: ReadonlyMap<string, number>;
  /** What deploys and checks of served statements found to fit since a moment, in ms. */
  asked_statements: { readonly since: number; readonly asked: AskedStatements };
  /** What lint knows of definitions that are served together. */
  readonly lint: LintIndex;
  /** What insights looked at before. */
  readonly insights: InsightCache;
  /** The versions that were read or stored last. */
  readonly snapshot_cache: SnapshotCache;
  /** The working copy with what is proposed. */
  readonly overlays: Overlays;
  /** Replays that are under way. */
  readonly replays: ReplayDesk;
  /** What people decided on pages a short while ago, by the nonce of the question. */
  readonly decisions: Map<string, { readonly news: DecisionNews; readonly until: number }>;
  /** Metadata documents of OAuth clients that are being fetched, by address. */
  readonly document_flights: Map<string, Promise<ClientDocument | null>>;
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

export async function createApp(options: AppOptions): Promise<App> {
  const { waits = WAITS } = options;
  const { keyring, installation_id } = await openKeyring(options);
  const policy: DialPolicy = {
    ...dialPolicy(options.env),
    async forbiddenNow() {
      const { settings } = await readSettings(app);
      return hostAddresses(
        options.env,
        [settings.port],
        app.hosts.list().map(({ url }) => url),
      );
    },
  };
  const sources = createSourcePool(policy, keyring);
  const working = new Set<Promise<void>>();
  const closing = new AbortController();
  const app: App = {
    ...options,
    waits,
    keyring,
    installation_id,
    policy,
    sources,
    hosts: createHostRegistry(options.clock),
    providers: createProviderLink(policy, waits.provider_ms),
    countries: createCountries({ ...options, policy }),
    deploy_lock: createLock(),
    switch_lock: createLock(),
    waiting_deploys: new Map(),
    test_runs: new Map(),
    generated_lock: createLock(),
    token_lock: createLock(),
    guards: new Map(),
    working_copy: createWorkingCopyHolder(),
    pending: null,
    tool_tokens: new Map(),
    asked_statements: { since: options.clock().getTime(), asked: new Map() },
    lint: createLintIndex(),
    insights: createInsightCache(),
    snapshot_cache: createSnapshotCache(),
    overlays: createOverlays(),
    replays: createReplayDesk(options.ids()),
    decisions: new Map(),
    document_flights: new Map(),
    announced: new Set(),
    life: { ending: false, answering: 0 },
    background(work) {
      const watched = work.finally(() => working.delete(watched));
      working.add(watched);
    },
    sleep: (ms) => sleepUntil(ms, closing.signal),
    async close() {
      closing.abort();
      await app.countries.close();
      await withTimeout(Promise.allSettled(working), BACKGROUND_MS, () =>
        options.log.warning('work in the background was cut off'),
      );
      await app.overlays.close();
      await sources.close();
      await options.kv.close();
      await options.store.close();
    },
  };
  return app;
}

/** The fingerprint key is made once and kept in the metadata database, always sealed with the first key of the ring. */
async function openKeyring({ env, store }: AppOptions): Promise<Pick<App, 'keyring' | 'installation_id'>> {
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
