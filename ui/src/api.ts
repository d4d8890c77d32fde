import { createClient, type CallOperation } from '#core/client/client.ts';
import type { OperationName } from '#core/contract/index.ts';
import { routes } from '#core/contract/routes.ts';
import { AppError } from '#core/errors.ts';
import { changedBy, type Source } from '#ui/src/kernel/data/freshness.ts';
import { isLost, LostAnswer, toProblem } from './kernel/problem.ts';

export type { CallOperation as Call };

interface ApiOptions {
  readonly base_url?: string;
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>;
  /** Called when a request outside of signing in is refused because the session ended. */
  readonly onSessionEnd: () => void;
  /** Timeout of a read. */
  readonly read_ms?: number;
  /** The person's role no longer allows the operation. */
  readonly onRoleRefused?: () => void;
  /** A dangerous change needs a proof. @returns whether the person gave one: then the request is repeated. */
  readonly onProofRequired?: (dangers: readonly string[]) => Promise<boolean>;
  /** A dangerous change needs a second person. @returns the note of the proposal; null: it is not proposed. */
  readonly onApprovalRequired?: (dangers: readonly string[]) => Promise<string | null>;
  /** The server stored a proposal and changed nothing else. */
  readonly onProposed?: (proposal_id: string) => void;
  /** Called after a change: answers that are derived from `source` are outdated. */
  readonly onChanged?: (source: Source, name: OperationName) => void;
}

/** A read that takes longer is aborted; fetch has no timeout. */
const READ_MS = 60_000;

const PROPOSED = 'Nothing changed yet: this is a proposal now. It takes effect when another administrator approves it.';

/** The REST API as typed calls in the session of this browser. */
export function createApi(options: ApiOptions): CallOperation {
  const client = {
    base_url: options.base_url ?? '',
    ...(options.fetch === undefined ? {} : { fetch: options.fetch }),
  };
  const call = createClient(client);
  /** Idempotency keys of creations whose answers were lost, by request. A retry reuses the key, so the server creates nothing twice. */
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

  const proved = (fault: unknown): Promise<boolean> => {
    const { code, errors } = toProblem(fault);
    if (code !== 'proof_required' || options.onProofRequired === undefined) return Promise.resolve(false);
    return options.onProofRequired(errors.map(({ message }) => message));
  };

  const answered: CallOperation = async (name, input, signal, file, request_id) => {
    const { method, creates = false } = routes[name];
    const source = changedBy(name, method, input);
    const send = method === 'GET' ? read : creates ? create : call;
    try {
      const answer = await send(name, input, signal, file, request_id);
      if (source !== undefined) {
        // Any change may have revoked the lost creation, so a retry creates a new one.
        lost.clear();
        options.onChanged?.(source, name);
      }
      return answer;
    } catch (fault) {
      const problem = toProblem(fault);
      const { code } = problem;
      if (code === 'role_required') options.onRoleRefused?.();
      if (!name.startsWith('auth.') && name !== 'two_factor.login' && code === 'unauthenticated') options.onSessionEnd();
      if (source === undefined || !isLost(problem)) throw fault;
      // The change may have happened: what shows it reloads.
      options.onChanged?.(source, name);
      throw code === 'offline' ? new LostAnswer() : fault;
    }
  };
  const dangerous: CallOperation = async (name, ...sent) => {
    try {
      return await answered(name, ...sent);
    } catch (fault) {
      if (!(await proved(fault))) throw fault;
      return answered(name, ...sent);
    }
  };
  return async (name, ...sent) => {
    try {
      return await dangerous(name, ...sent);
    } catch (fault) {
      const { code, errors } = toProblem(fault);
      // A proposal cannot be approved by proposing it again.
      if (code !== 'approval_required' || name === 'proposals.approve') throw fault;
      const note = (await options.onApprovalRequired?.(errors.map(({ message }) => message))) ?? null;
      if (note === null) throw fault;
      const headers = { 'x-proposal-id': 'new', 'x-proposal-note': encodeURIComponent(note) };
      const answer = await createClient({ ...client, headers })(name, ...sent);
      const { proposal_id } = answer as { readonly proposal_id?: string };
      if (proposal_id === undefined) return answer;
      options.onChanged?.('proposals', name);
      options.onProposed?.(proposal_id);
      throw new AppError('approval_required', PROPOSED);
    }
  };
}

/** `crypto.randomUUID` is there over HTTPS only. */
export const newKey = (): string => Array.from(crypto.getRandomValues(new Uint32Array(4)), (part) => part.toString(36)).join('-');
