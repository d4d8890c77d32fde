import { createClient, type Call } from '#core/client.ts';
import { toProblem } from './kernel/problem.ts';

export type { Call };

export interface ApiOptions {
  readonly base_url?: string;
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>;
  /** The session has ended: called for every refused call that is not part of signing in. */
  readonly onSessionEnd: () => void;
  /** What is served has become another. */
  readonly onDeployed?: () => void;
}

/** Calls after which something else is served. */
const DEPLOYS: ReadonlySet<string> = new Set([
  'deploy.run',
  'deploy.stop',
  'snapshots.activate',
  'config.update',
  'history.rollback',
  'transfer.import',
]);

/** The REST API as typed calls in the session of this browser. */
export function createApi(options: ApiOptions): Call {
  const call = createClient({
    base_url: options.base_url ?? '',
    ...(options.fetch === undefined ? {} : { fetch: options.fetch }),
  });
  return async (name, input, signal) => {
    try {
      const answer = await call(name, input, signal);
      if (DEPLOYS.has(name)) options.onDeployed?.();
      return answer;
    } catch (fault) {
      if (!name.startsWith('auth.') && name !== 'two_factor.login' && toProblem(fault).code === 'unauthenticated')
        options.onSessionEnd();
      throw fault;
    }
  };
}
