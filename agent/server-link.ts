import { type CallOperation, createClient } from '#core/client/client.ts';
import type { AgentLine, AgentSettings } from '#core/contract/identity/agent-channel.ts';
import type { Proposal } from './tools/proposing.ts';
import { AppError, type ErrorCode } from '#core/errors.ts';

/** On whose behalf the server is asked. */
export interface Caller {
  readonly token: string;
  readonly client_address: string | null;
  readonly request_id: string;
}

export interface ServerLink {
  /** Who the bearer is. The named calls count in its rate; throws what the server refuses. */
  authorize(caller: Caller, calls: readonly string[]): Promise<{ id: string; name: string; scopes: string[] }>;
  /** Tells the activity of a call that never reached the server. */
  refused(caller: Caller, tool: string, error: 'invalid' | 'not_found'): Promise<void>;
  /** What the token endpoint answers (RFC 6749). */
  token(form: Readonly<Record<string, string | null>>): Promise<{ status: number; body: object }>;
  /** What the configuration says about the agent endpoint, at most 2 s old. */
  settings(): Promise<AgentSettings>;
  /** Lines of the agent's own log. */
  lines(lines: readonly AgentLine[]): Promise<void>;
  /** The REST API as this caller. @param proposal what a call that proposes says of its proposal. */
  as(caller: Caller, proposal?: Proposal): CallOperation;
}

export interface LinkOptions {
  /** Without a trailing slash. */
  readonly server_url: string;
  readonly service_token: string;
}

/** Contract section 0. */
const SETTINGS_MS = 2_000;

export function createServerLink({ server_url, service_token }: LinkOptions): ServerLink {
  const send = (url: string, init: RequestInit): Promise<Response> =>
    fetch(url, init).catch((cause: unknown) => {
      if (init.signal?.aborted) throw new AppError('cancelled', 'The caller disconnected.', { cause });
      throw new AppError('unavailable', 'The agent cannot reach the server. Check SVC_SERVER_URL, or try again in a moment.', {
        cause,
        retry_after: 2,
      });
    });
  const ask = async <T>(path: string, body?: object): Promise<T> => {
    const response = await send(`${server_url}/api/internal/agent/${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/problem+json, application/json',
        'x-service-token': service_token,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (response.ok) return (response.status === 204 ? undefined : await response.json()) as T;
    const problem = (await response.json().catch(() => ({}))) as { detail?: string; code?: ErrorCode };
    const retry_after = Number(response.headers.get('retry-after'));
    const detail = problem.detail ?? 'The server sent an answer that could not be read.';
    throw new AppError(problem.code ?? 'unavailable', detail, retry_after > 0 ? { retry_after } : {});
  };
  let settings: { readonly asked: number; readonly answer: Promise<AgentSettings> } | null = null;
  return {
    authorize: ({ token, client_address }, calls) => ask('authorize', { token, client_address, calls }),
    refused: ({ token, client_address }, tool, error) => ask('activity', { token, client_address, tool, error }),
    settings() {
      if (settings !== null && performance.now() - settings.asked < SETTINGS_MS) return settings.answer;
      const answer = ask<AgentSettings>('settings');
      settings = { asked: performance.now(), answer };
      // What failed is asked again.
      answer.catch(() => {
        settings = null;
      });
      return answer;
    },
    lines: (lines) => ask('lines', { lines }),
    token: (form) => ask('token', form),
    as: ({ token, client_address, request_id }, proposal = { id: null, note: null }) =>
      createClient({
        base_url: server_url,
        fetch: send,
        headers: {
          authorization: `Bearer ${token}`,
          'x-service-token': service_token,
          'x-request-id': request_id,
          ...(proposal.id === null ? {} : { 'x-proposal-id': proposal.id }),
          // A header holds no other letters, and percent-encoding makes the longest note too long for one.
          ...(proposal.note === null ? {} : { 'x-proposal-note-base64url': Buffer.from(proposal.note).toString('base64url') }),
          ...(client_address === null ? {} : { 'x-client-address': client_address }),
        },
      }),
  };
}
