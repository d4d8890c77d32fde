import { type CallOperation, createClient } from '#core/client/client.ts';
import type { AgentLine, AgentSettings } from '#core/contract/identity/agent-channel.ts';
import type { Proposal } from './tools/proposing.ts';
import { AppError, type ErrorCode } from '#core/errors.ts';

/** The caller on whose behalf the server is called. */
export interface Caller {
  readonly token: string;
  readonly client_address: string | null;
  readonly request_id: string;
}

export interface ServerLink {
  /** Identifies the bearer. The named calls count towards its rate limit. Throws when the server refuses. */
  authorize(caller: Caller, calls: readonly string[]): Promise<{ id: string; name: string; scopes: string[] }>;
  /** Records a call that never reached the server in the activity log. */
  refused(caller: Caller, tool: string, error: 'invalid' | 'not_found'): Promise<void>;
  /** Returns the response of the token endpoint (RFC 6749). */
  token(form: Readonly<Record<string, string | null>>): Promise<{ status: number; body: object }>;
  /** Settings of the agent endpoint, at most 2 s old. */
  settings(): Promise<AgentSettings>;
  /** Sends log lines of the agent. */
  lines(lines: readonly AgentLine[]): Promise<void>;
  /** The REST API with this caller's token. @param proposal the proposal to which a write is added. */
  as(caller: Caller, proposal?: Proposal): CallOperation;
}

export interface LinkOptions {
  /** Without a trailing slash. */
  readonly server_url: string;
  readonly service_token: string;
}

/** How long settings are cached. */
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
  let settings: { readonly requested_at: number; readonly answer: Promise<AgentSettings> } | null = null;
  return {
    authorize: ({ token, client_address }, calls) => ask('authorize', { token, client_address, calls }),
    refused: ({ token, client_address }, tool, error) => ask('activity', { token, client_address, tool, error }),
    settings() {
      if (settings !== null && performance.now() - settings.requested_at < SETTINGS_MS) return settings.answer;
      const answer = ask<AgentSettings>('settings');
      settings = { requested_at: performance.now(), answer };
      // A failed request is not cached.
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
          // Headers are ASCII, and percent-encoding would make the longest note too long for one.
          ...(proposal.note === null ? {} : { 'x-proposal-note-base64url': Buffer.from(proposal.note).toString('base64url') }),
          ...(client_address === null ? {} : { 'x-client-address': client_address }),
        },
      }),
  };
}
