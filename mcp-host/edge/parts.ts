import { type Log, createLog } from '#core/process/log.ts';
import { createRateLimits } from '#mcp-host/limits/rate-limit.ts';
import { createViews } from '#mcp-host/registry/views.ts';
import { type IssuerMemory, createIssuerMemory } from './issuer-memory.ts';
import { type LoadedBundle, loadBundle } from './load.ts';
import { LOG_LEVELS } from '#core/contract/log-levels.ts';
import { type Binding, textIn } from './bindings.ts';
import type { Network } from '#core/engines/shared/network.ts';
import { AppError } from '#core/errors.ts';

/** The fetch of a platform, which resolves names and verifies certificates. */
export const platformFetch: Network['fetch'] = async (url, init) => {
  try {
    // A redirect would send the token of the database to another address.
    return await fetch(url, { ...init, redirect: 'manual' });
  } catch (cause) {
    if (init.signal?.aborted === true) throw cause;
    throw new AppError('database_unreachable', `The connection to ${url.host} failed; check the host and the port.`, {
      reason: 'failed',
      cause,
    });
  }
};

/** Names under which clients reach the bundle, separated by commas. */
const ALLOWED_HOSTS = 'SVC_ALLOWED_HOSTS';

/** The parts that live as long as the isolate and need no request. */
export interface IsolateParts {
  readonly bundle: LoadedBundle;
  readonly views: ReturnType<typeof createViews>;
  readonly limits: ReturnType<typeof createRateLimits>;
  readonly issuers: IssuerMemory;
  readonly log: Log;
  readonly allowed_hosts: ReadonlySet<string>;
  readonly started_at: number;
}

/** @param text of the bundle. */
export async function openIsolate(text: string, binding: Binding): Promise<IsolateParts> {
  const bundle = await loadBundle(text, binding);
  const level = LOG_LEVELS.find((known) => known === bundle.registry.server.log_level.toUpperCase());
  const log = createLog(level ?? 'INFO', ({ fields, ...line }) => console.log(JSON.stringify({ ...line, ...fields })), 'host');
  if (bundle.lacks !== null) log.error('bindings_missing', { detail: bundle.lacks });
  const { public_url } = bundle;
  const names = [
    ...(textIn(binding, ALLOWED_HOSTS) ?? '').split(','),
    ...(public_url === null ? [] : [new URL(public_url).hostname]),
  ];
  return {
    bundle,
    log,
    views: createViews(),
    issuers: createIssuerMemory(Date.now),
    limits: createRateLimits({ tool_per_minute: 0, caller_per_minute: 0 }),
    allowed_hosts: new Set(names.map((name) => name.trim().toLowerCase()).filter((name) => name !== '')),
    started_at: Date.now(),
  };
}
