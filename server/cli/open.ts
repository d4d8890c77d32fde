import { type ControlPlane, createControlPlane } from '#core/control-plane/control-plane.ts';
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type MigrationState, incompatibility } from '#core/store/migrate.ts';
import { databaseUrl, openStore, openStoreAsIs } from '#core/store/open.ts';
import type { Store } from '#core/store/store.ts';
import { withDevSecrets } from '#core/edge/dev-secrets.ts';
import { type Env, parseEnv } from '#core/process/env.ts';
import { AppError } from '#core/errors.ts';
import { pathOfFileUrl } from '#core/lib/file-url.ts';
import { createMemoryKv } from '#core/cluster/memory.ts';
import { createLog, toStream } from '#core/process/log.ts';
import { type RequestContext, SYSTEM, systemRequest } from '#core/context/context.ts';
import type { Terminal } from './command.ts';

/** The environment as the server reads it. Generated secrets in the data folder mean `npm start`, so development mode. */
export function readEnvironment({ environment }: Terminal): { env: Env; warnings: string[] } {
  const folder = resolve(environment['SVC_DATA_DIR'] || './data');
  const generated = existsSync(join(folder, 'dev-secrets.json'));
  const configured_key = environment['SVC_ENCRYPTION_KEY'] || environment['SVC_ENCRYPTION_KEY_FILE'];
  const dev = !environment['SVC_ENV'] && !configured_key && generated;
  return parseEnv('server', withDevSecrets(dev ? { ...environment, SVC_ENV: 'dev' } : environment));
}

/** The path of the embedded metadata database, or null when it is PostgreSQL. */
export function embeddedFile(env: Env): string | null {
  const path = pathOfFileUrl(databaseUrl(env));
  return path === null ? null : resolve(path);
}

/** Opens a database of any version, also while a server uses it. A missing file is refused, as the folder is probably wrong. */
export async function openAsIs(env: Env): Promise<{ readonly store: Store; readonly migrations: MigrationState }> {
  const file = embeddedFile(env);
  if (file !== null && !existsSync(file)) {
    throw new AppError(
      'not_found',
      `There is no metadata database at ${file}. Set SVC_DATA_DIR or SVC_DATABASE_URL to the server's value.`,
    );
  }
  return openStoreAsIs(databaseUrl(env));
}

/**
 * The database of a server of this version. Commands never migrate, as an older server may be using the database.
 * @param create whether to create the tables of an empty database.
 */
export async function openDatabase(env: Env, create = false): Promise<Store> {
  const { store, migrations } = create ? await openStoreAsIs(databaseUrl(env)) : await openAsIs(env);
  const unfit = incompatibility(migrations);
  if (unfit === null) return store;
  await store.close();
  if (create && migrations.done === 0) return openStore(databaseUrl(env));
  throw new AppError('conflict', unfit);
}

interface AppOptions {
  /** Creates the tables of an empty database. */
  readonly create?: boolean;
  /** False: `work` only reads, and needs none of the secrets in the environment. */
  readonly opens_secrets?: boolean;
}

/** Runs `work` with a control plane beside the running server, if any, and closes it. */
export async function withApp<T>(
  terminal: Terminal,
  work: (app: ControlPlane) => Promise<T>,
  { create = false, ...options }: AppOptions = {},
): Promise<T> {
  const { env, warnings } = readEnvironment(options.opens_secrets === false ? withRandomSecrets(terminal) : terminal);
  const log = createLog('WARNING', toStream({ write: terminal.err }));
  for (const warning of warnings) terminal.err(`${warning}\n`);
  const store = await openDatabase(env, create);
  try {
    // Counters and activity belong to the running servers; a command needs neither.
    const kv = createMemoryKv();
    const app = await createControlPlane({
      env,
      store,
      kv,
      log,
      clock: () => new Date(),
      ids: () => Bun.randomUUIDv7(),
      ...options,
    });
    try {
      return await work(app);
    } finally {
      await app.sources.close();
    }
  } finally {
    await store.close();
  }
}

/** The environment without the secrets of the server: each is another one, so that they may be lost. */
function withRandomSecrets(terminal: Terminal): Terminal {
  const rest = Object.entries(terminal.environment).filter(([name]) => !SERVER_SECRETS.some((secret) => name.startsWith(secret)));
  const random = SERVER_SECRETS.map((name) => [name, crypto.randomUUID()]);
  return { ...terminal, environment: Object.fromEntries([...rest, ...random]) };
}

const SERVER_SECRETS = ['SVC_ENCRYPTION_KEY', 'SVC_JWT_SECRET', 'SVC_AGENT_SERVICE_TOKEN'];

/** The request context of a command, with its actor for the history. */
export const operatorCall = (): RequestContext => ({
  ...systemRequest('command-line'),
  actor: { ...SYSTEM, name: 'command line' },
});
