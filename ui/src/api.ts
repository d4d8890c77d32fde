import { createClient, type CallOperation } from '#core/client/client.ts';
import { routes } from '#core/contract/routes.ts';
import { affectedBy } from '#ui/src/kernel/data/affected.ts';
import { isLost, LostAnswer, toProblem } from './kernel/problem.ts';

export type { CallOperation as Call };

interface ApiOptions {
  readonly base_url?: string;
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>;
  /** The session has ended: called for every refused call that is not part of signing in. */
  readonly onSessionEnd: () => void;
  /** How long a read may take. */
  readonly read_ms?: number;
  /** The role of the person does not allow it, whatever it was when the page was made. */
  readonly onRoleRefused?: () => void;
  /** Something was changed: what was read of these nouns is no longer true; undefined: nothing is. */
  readonly onChanged?: (nouns: readonly string[] | undefined) => void;
}

/** A read that takes longer is given up: nothing else would ever say that its answer does not come. */
const READ_MS = 60_000;

/** The REST API as typed calls in the session of this browser. */
export function createApi(options: ApiOptions): CallOperation {
  const client = {
    base_url: options.base_url ?? '',
    ...(options.fetch === undefined ? {} : { fetch: options.fetch }),
  };
  const call = createClient(client);
  /** Keys of creations whose answers were lost, by what was sent: sent again, it is not made twice. */
  const lost = new Map<string, string>();

  const create: CallOperation = async (name, input, signal, file, request_id) => {
    const sent = `${name} ${JSON.stringify(input)}`;
    const key = lost.get(sent) ?? newKey();
    lost.delete(sent);
    try {
      return await createClient({ ...client, headers: { 'idempotency-key': key } })(name, input, signal, file, request_id);
    } catch (fault) {
      if (isLost(toProblem(fault))) lost.set(sent, key);
      throw fault;
    }
  };
  const read: CallOperation = (name, input, signal) => {
    const late = AbortSignal.timeout(options.read_ms ?? READ_MS);
    return call(name, input, signal === undefined ? late : AbortSignal.any([signal, late]));
  };

  return async (name, input, signal, file, request_id) => {
    const { method, creates = false } = routes[name];
    const nouns = affectedBy(name, method, input);
    const send = method === 'GET' ? read : creates ? create : call;
    try {
      const answer = await send(name, input, signal, file, request_id);
      if (nouns?.length !== 0) {
        // What was made may be revoked by now, and is made anew.
        lost.clear();
        options.onChanged?.(nouns);
      }
      return answer;
    } catch (fault) {
      const problem = toProblem(fault);
      const { code } = problem;
      if (code === 'role_required') options.onRoleRefused?.();
      if (!name.startsWith('auth.') && name !== 'two_factor.login' && code === 'unauthenticated') options.onSessionEnd();
      if (nouns?.length === 0 || !isLost(problem)) throw fault;
      // It may have happened all the same: whoever shows it looks.
      options.onChanged?.(nouns);
      throw code === 'offline' ? new LostAnswer() : fault;
    }
  };
}

/** `crypto.randomUUID` is there over HTTPS only. */
export const newKey = (): string => Array.from(crypto.getRandomValues(new Uint32Array(4)), (part) => part.toString(36)).join('-');
