import { randomBytes } from 'node:crypto';
import { existsSync, linkSync, mkdirSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { productFile } from '#core/process/product.ts';

const FILE = 'dev-secrets.json';
const NAMES = ['SVC_ENCRYPTION_KEY', 'SVC_JWT_SECRET', 'SVC_AGENT_SERVICE_TOKEN'] as const;

/**
 * In development, missing secrets are generated once and stored in the data folder, so that all programs of an installation use
 * the same ones. In production the environment is returned unchanged.
 */
export function withDevSecrets(source: Readonly<Record<string, string | undefined>>): Record<string, string | undefined> {
  if (source['SVC_ENV'] !== 'dev') return { ...source };
  const missing = NAMES.filter((name) => !source[name] && !source[`${name}_FILE`]);
  if (missing.length === 0) return { SVC_KV: devKv(source), ...source };
  const directory = resolve(source['SVC_DATA_DIR'] || './data');
  const file = join(directory, FILE);
  if (!existsSync(file)) create(directory, file);
  const stored = storedDevSecrets(directory);
  return { SVC_KV: devKv(source), ...source, ...Object.fromEntries(missing.map((name) => [name, stored[name]])) };
}

/**
 * A client may start a program in any folder and without an environment. It then belongs to the development installation whose
 * data folder is in the current folder, or else in the product's folder.
 */
export function withDevInstallation(source: Readonly<Record<string, string | undefined>>): Record<string, string | undefined> {
  const is_configured = ['SVC_ENV', 'SVC_ENCRYPTION_KEY', 'SVC_ENCRYPTION_KEY_FILE'].some((name) => source[name]);
  if (is_configured) return withDevSecrets(source);
  const folders = source['SVC_DATA_DIR'] ? [source['SVC_DATA_DIR']] : ['./data', productFile('data')];
  const SVC_DATA_DIR = folders.map((folder) => resolve(folder)).find((folder) => existsSync(join(folder, FILE)));
  return withDevSecrets(SVC_DATA_DIR === undefined ? source : { ...source, SVC_ENV: 'dev', SVC_DATA_DIR });
}

/** Returns the secrets that were generated in a data folder, or an empty object. */
export function storedDevSecrets(directory: string): Readonly<Record<string, string>> {
  const file = join(directory, FILE);
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Record<string, string>) : {};
}

const devKv = (source: Readonly<Record<string, string | undefined>>): string =>
  source['SVC_REDIS_URL'] || source['REDIS_URL'] || source['REDIS_PASSWORD'] ? 'redis' : 'memory';

/** Creates the file atomically: if two programs start at once, the first link wins and both use its secrets. */
function create(directory: string, file: string): void {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  // A random suffix, because process IDs are not unique across containers.
  const draft = `${file}.${randomBytes(4).toString('hex')}`;
  const secrets = Object.fromEntries(NAMES.map((name) => [name, randomBytes(32).toString('base64url')]));
  writeFileSync(draft, `${JSON.stringify(secrets, null, 2)}\n`, { mode: 0o600 });
  try {
    linkSync(draft, file);
  } catch (error) {
    if (!existsSync(file)) throw error;
  } finally {
    unlinkSync(draft);
  }
}
