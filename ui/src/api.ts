import { createClient, type Call } from '#core/client.ts';
import { routes } from '#core/contract/routes.ts';
import { affectedBy } from '#ui/src/kernel/data/affected.ts';
import { toProblem } from './kernel/problem.ts';

export type { Call };

interface ApiOptions {
  readonly base_url?: string;
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>;
  /** The session has ended: called for every refused call that is not part of signing in. */
  readonly onSessionEnd: () => void;
  /** The role of the person does not allow it, whatever it was when the page was made. */
  readonly onRoleRefused?: () => void;
  /** Something was changed: what was read of these nouns is no longer true; undefined: nothing is. */
  readonly onChanged?: (nouns: readonly string[] | undefined) => void;
}

/** The REST API as typed calls in the session of this browser. */
export function createApi(options: ApiOptions): Call {
  const call = createClient({
    base_url: options.base_url ?? '',
    ...(options.fetch === undefined ? {} : { fetch: options.fetch }),
  });
  return async (name, input, signal, file) => {
    try {
      const answer = await call(name, input, signal, file);
      const nouns = affectedBy(name, routes[name].method, input);
      if (nouns?.length !== 0) options.onChanged?.(nouns);
      return answer;
    } catch (fault) {
      const { code } = toProblem(fault);
      if (code === 'role_required') options.onRoleRefused?.();
      if (!name.startsWith('auth.') && name !== 'two_factor.login' && code === 'unauthenticated') options.onSessionEnd();
      throw fault;
    }
  };
}
