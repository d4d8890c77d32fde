import { createApp, type App } from '#core/app.ts';
import { databaseUrl, openStore } from '#core/db/open.ts';
import { type Env, redisUrl } from '#core/env.ts';
import { createMemoryKv } from '#core/kv/memory.ts';
import { createRedisKv } from '#core/kv/redis.ts';
import type { Kv } from '#core/kv/kv.ts';
import type { Log } from '#core/log.ts';
import { SYSTEM } from '#core/run.ts';
import { createAdmin } from '#core/services/auth.ts';
import { importFile } from '#core/services/import-file.ts';
import { requireSecrets, rewrapActiveSnapshot } from '#core/services/keys.ts';
import { followDeployments } from '#core/services/deployment-follow.ts';
import { followTokens, tellTokenUses } from '#core/services/mcp-tokens.ts';
import { keepForgetting } from '#core/services/monitoring-retention.ts';
import { faultOutside } from './faults.ts';
import { createHttp, isStream } from './http.ts';
import { type SocketOwner, socketHandler } from './sockets.ts';

export interface RunningServer {
  readonly app: App;
  /** The port that is listened on. */
  readonly port: number;
  /** Ends every stream, then the listener, then the stores. */
  stop(): Promise<void>;
}

/** Connections that say and hear nothing for so long are closed, unless a stream or a call is under way. */
const IDLE_SECONDS = 30;

/** Opens the stores and listens. @param idle_seconds at most 255. */
export async function startServer(env: Env, log: Log, idle_seconds = IDLE_SECONDS): Promise<RunningServer> {
  const store = await openStore(databaseUrl(env));
  const app = await createApp({ env, store, kv: openKv(env, log), log, clock: () => new Date(), ids: () => Bun.randomUUIDv7() });
  try {
    await requireSecrets(app);
    if (await rewrapActiveSnapshot(app)) log.info('the active snapshot is sealed with the first key now');
    await createFirstAdmin(app);
    await importFile(app);
  } catch (error) {
    await app.close();
    throw error;
  }
  const http = createHttp(app);
  const server = Bun.serve({
    hostname: env.SVC_BIND,
    port: env.SVC_PORT,
    idleTimeout: idle_seconds,
    maxRequestBodySize: 20 * 1024 * 1024,
    websocket: socketHandler,
    // Bun's own page of a fault shows the source; what Hono could not answer is told like any other fault.
    development: false,
    error: (error) => faultOutside(app, error),
    async fetch(request, listener) {
      let is_socket = false;
      const response = await http.fetch(request, {
        address: listener.requestIP(request)?.address ?? null,
        upgrade: (owner: SocketOwner) => (is_socket = listener.upgrade(request, { data: owner })),
        received: () => listener.timeout(request, 0),
      });
      // Streams are quiet for long. A timeout stays with the connection: after anything else the usual one holds again.
      if (!is_socket) listener.timeout(request, isStream(response) ? 0 : idle_seconds);
      return response;
    },
  });
  const chores = [keepForgetting(app), followTokens(app), tellTokenUses(app), followDeployments(app)];
  return {
    app,
    port: server.port ?? env.SVC_PORT,
    async stop() {
      for (const end of chores) end();
      await server.stop(true);
      await app.close();
    },
  };
}

function openKv(env: Env, log: Log): Kv {
  if (env.SVC_KV === 'memory') return createMemoryKv(() => Date.now());
  return createRedisKv(redisUrl(env), (error) => log.warning('redis failed', { reason: error.message }));
}

/** `SVC_ADMIN_USERNAME` and `SVC_ADMIN_PASSWORD` make the first administrator when there is none. */
async function createFirstAdmin(app: App): Promise<void> {
  const { SVC_ADMIN_USERNAME: username, SVC_ADMIN_PASSWORD: password } = app.env;
  if (username === null || password === null) return;
  const context = { app, actor: SYSTEM, ip: null, user_agent: null, request_id: 'start' };
  await createAdmin(context, username, password).catch((error: unknown) => {
    if ((error as { code?: string }).code !== 'conflict') throw error;
  });
}
