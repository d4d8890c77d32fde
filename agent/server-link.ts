import { type Call, createClient } from '#core/client.ts';
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
  /** The REST API as this caller. */
  as(caller: Caller): Call;
}

export interface LinkOptions {
  /** Without a trailing slash. */
  readonly server_url: string;
  readonly service_token: string;
}

export function createServerLink({ server_url, service_token }: LinkOptions): ServerLink {
  const send = (url: string, init: RequestInit): Promise<Response> =>
    fetch(url, init).catch((cause: unknown) => {
      if (init.signal?.aborted) throw new AppError('cancelled', 'The caller went away.', { cause });
      throw new AppError('unavailable', 'The agent cannot reach the server. Check SVC_SERVER_URL, or try again in a moment.', {
        cause,
        retry_after: 2,
      });
    });
  const post = async <T>(path: string, body: object): Promise<T> => {
    const response = await send(`${server_url}/api/internal/agent/${path}`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/problem+json, application/json',
        'x-service-token': service_token,
      },
      body: JSON.stringify(body),
    });
    if (response.ok) return (response.status === 204 ? undefined : await response.json()) as T;
    const problem = (await response.json().catch(() => ({}))) as { detail?: string; code?: ErrorCode };
    const retry_after = Number(response.headers.get('retry-after'));
    const detail = problem.detail ?? 'The server gave no answer that could be read.';
    throw new AppError(problem.code ?? 'unavailable', detail, retry_after > 0 ? { retry_after } : {});
  };
  return {
    authorize: ({ token, client_address }, calls) => post('authorize', { token, client_address, calls }),
    refused: ({ token, client_address }, tool, error) => post('activity', { token, client_address, tool, error }),
    token: (form) => post('token', form),
    as: ({ token, client_address, request_id }) =>
      createClient({
        base_url: server_url,
        fetch: send,
        headers: {
          authorization: `Bearer ${token}`,
          'x-service-token': service_token,
          'x-request-id': request_id,
          ...(client_address === null ? {} : { 'x-client-address': client_address }),
        },
      }),
  };
}
