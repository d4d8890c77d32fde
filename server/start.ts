import { type ControlPlane, createControlPlane } from '#core/control-plane/control-plane.ts';
import { databaseUrl, openStore } from '#core/store/open.ts';
import { IDLE_SECONDS } from '#core/edge/body.ts';
import { type Env, redisUrl } from '#core/process/env.ts';
import { createMemoryKv } from '#core/cluster/memory.ts';
import type { Kv } from '#core/cluster/kv.ts';
import type { Log } from '#core/process/log.ts';
import { SYSTEM } from '#core/context/context.ts';
import { createOwner } from '#core/identity/auth.ts';
import { prepareAuditKeys } from '#core/audit/heads.ts';
import { keepSendingAudit } from '#core/audit/sinks.ts';
import { keepAuditLog } from '#core/audit/writer.ts';
import { keepCollectingOauth } from '#core/identity/oauth/garbage.ts';
import { snapshotToServe } from '#core/deploy/exposure.ts';
import { importFile } from './import-file.ts';
import type { PasswordWork } from '#core/identity/passwords.ts';
import { requireSecrets } from '#core/versions/keys.ts';
import { rewrapServed } from '#core/versions/rewrap.ts';
import { startDriftChecks } from '#core/deploy/checks/drift.ts';
import { startCanaryWatch } from '#core/deploy/candidates/canary.ts';
import { startCandidateCleanup } from '#core/deploy/candidates/candidates.ts';
import { drillWarning } from '#core/deploy/deploys.ts';
import { prepareDefinitionKeys } from '#core/deploy/signing/keys.ts';
import { keepSigning } from '#core/deploy/signing/sign.ts';
import { followDeployments } from '#core/deploy/deployment-follow.ts';
import { followCancels } from '#core/observe/running-calls.ts';
import { followDecisions } from '#core/identity/oauth/confirmations.ts';
import { followReplays } from '#core/deploy/replay-calls.ts';
import { followNames } from '#core/hosts/host-names.ts';
import { keepDroppingIdle } from '#core/proposals/overlays.ts';
import { followTokens, pushTokenUses } from '#core/identity/mcp-tokens.ts';
import { watchTokenEnds } from '#core/identity/ends/watch-ends.ts';
import { keepSigningKeys } from '#core/identity/oauth/keys.ts';
import { followIdentity } from '#core/identity/oauth/published.ts';
import { watchSigns } from '#core/hosts/signs-of-life.ts';
import { shareHosts } from '#core/hosts/shared-hosts.ts';
import { startRetention } from '#core/control-plane/control-plane.ts';
import { watchCalls } from '#core/observe/notices/watch-calls.ts';
import { watchHosts } from '#core/observe/notices/watch-hosts.ts';
import { keepSendingNotices } from '#core/observe/notices/send.ts';
import { drained } from './http/health.ts';
import { createHttp } from './http/http.ts';
import { listen } from './http/listen.ts';
import { createHttps } from './tls/https.ts';
import { keepCertificate, type KeeperOptions } from './tls/keeper.ts';

export interface RunningServer {
  readonly app: ControlPlane;
  /** The port that the server listens on. */
  readonly port: number;
  /** The port of HTTPS; null: HTTPS is off. */
  readonly httpsPort: () => number | null;
  /** Ends every stream, then the listener, then the stores. */
  stop(): Promise<void>;
}

export interface StartOptions {
  /** At most 255. */
  readonly idle_seconds?: number;
  readonly clock?: () => Date;
  readonly certificates?: KeeperOptions;
  readonly password_work?: PasswordWork;
}

/** Opens the stores and listens. */
export async function startServer(env: Env, log: Log, options: StartOptions = {}): Promise<RunningServer> {
  const { idle_seconds = IDLE_SECONDS, clock = () => new Date(), certificates, password_work } = options;
  const store = await openStore(databaseUrl(env));
  const app = await createControlPlane({
    env,
    store,
    kv: await openKv(env, log),
    log,
    clock,
    ids: () => Bun.randomUUIDv7(),
    ...(password_work && { password_work }),
  });
  try {
    await requireSecrets(app);
    const { entities, active_snapshot } = await rewrapServed(app);
    if (active_snapshot) log.info('the active snapshot is now encrypted with the first key');
    if (entities > 0) log.info('candidates are now encrypted with the first key', { candidates: entities });
    await createFirstAdmin(app);
    await prepareAuditKeys(app);
    await prepareDefinitionKeys(app);
    await importFile(app);
    const { refused } = await snapshotToServe(app);
    if (refused !== null) log.error('the deployed snapshot is not served', { reason: refused });
  } catch (error) {
    await app.close();
    throw error;
  }
  if (env.SVC_RESTORE_DRILL) log.warning(drillWarning);
  const endSharing = shareHosts(app);
  const https = createHttps(app);
  const http = createHttp(app, https);
  const listening = { app, http, hostname: env.SVC_BIND, idle_seconds };
  const listener = listen({ ...listening, port: env.SVC_PORT });
  https.start(listening);
  const chores = [
    endSharing,
    startRetention(app),
    startDriftChecks(app),
    keepCollectingOauth(app),
    followTokens(app),
    pushTokenUses(app),
    keepSigningKeys(app),
    followIdentity(app),
    followDeployments(app),
    keepSigning(app),
    startCandidateCleanup(app),
    startCanaryWatch(app),
    followNames(app),
    keepDroppingIdle(app),
    followReplays(app),
    followCancels(app),
    followDecisions(app),
    keepAuditLog(app),
    // A restored copy would send the webhooks and the audit log of the real installation again, and order its certificates.
    ...(env.SVC_RESTORE_DRILL ? [] : [keepCertificate(app, certificates), keepSendingNotices(app), keepSendingAudit(app)]),
    watchSigns(app),
    watchHosts(app),
    watchCalls(app),
    watchTokenEnds(app),
  ];
  return {
    app,
    port: listener.port,
    httpsPort: () => https.port(),
    async stop() {
      await drained(app);
      for (const end of chores) end();
      await Promise.all([listener.stop(), https.stop()]);
      await app.close();
    },
  };
}

async function openKv(env: Env, log: Log): Promise<Kv> {
  if (env.SVC_KV === 'memory') return createMemoryKv();
  // Loading the client takes 3 MiB of memory.
  const { createRedisKv } = await import('#core/cluster/redis.ts');
  return createRedisKv({
    url: redisUrl(env),
    space: env.SVC_AGENT_SERVICE_TOKEN,
    fallback: createMemoryKv(),
    onChange(up, reason) {
      if (up) log.info('redis answers', { reason });
      else log.warning('redis lost', { reason, effect: 'every server counts sign-ins and agent calls on its own' });
    },
  });
}

/** Creates the owner from `SVC_ADMIN_USERNAME` and `SVC_ADMIN_PASSWORD` when there is no person yet. */
async function createFirstAdmin(app: ControlPlane): Promise<void> {
  const { SVC_ADMIN_USERNAME: username, SVC_ADMIN_PASSWORD: password } = app.env;
  if (username === null || password === null) return;
  const context = { app, actor: SYSTEM, ip: null, user_agent: null, request_id: 'start' };
  await createOwner(context, username, password).catch((error: unknown) => {
    if ((error as { code?: string }).code !== 'conflict') throw error;
  });
}
