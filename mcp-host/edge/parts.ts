import { LOG_LEVELS } from '#core/contract/log-levels.ts';
import { createLog, type Log } from '#core/process/log.ts';
import { createRateLimits } from '#mcp-host/limits/rate-limit.ts';
import { createViews } from '#mcp-host/registry/views.ts';
import { type Binding, textIn } from './bindings.ts';
import { createIssuerMemory, type IssuerMemory } from './issuer-memory.ts';
import { type LoadedBundle, loadBundle } from './load.ts';

/** Names by which clients reach the bundle, separated by commas. */
const ALLOWED_HOSTS = 'SVC_ALLOWED_HOSTS';

/** What lives as long as the isolate: nothing of it waits for a request. */
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
