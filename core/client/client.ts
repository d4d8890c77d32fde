import type { OperationName, Output, RawInput } from '#core/contract/index.ts';
import { fullPath, pathVariables } from '#core/contract/paths.ts';
import { routes } from '#core/contract/routes.ts';
import { AppError, type ErrorCode, type FieldError } from '#core/errors.ts';

export interface ClientOptions {
  /** Origin of the server without a trailing slash. Empty: the origin of the page. */
  readonly base_url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>;
}

/** @param file the body of an operation that takes a file. @param request_id the id under which the server reports progress. */
export type CallOperation = <N extends OperationName>(
  name: N,
  input: RawInput<N>,
  signal?: AbortSignal,
  file?: Blob,
  request_id?: string,
) => Promise<Output<N>>;

/** The REST API as typed calls. Throws AppError with the detail, code and field errors of the server. */
export function createClient(options: ClientOptions): CallOperation {
  const send = options.fetch ?? ((url, init) => fetch(url, init));
  return async (name, input, signal, file, request_id) => {
    const { method, path, query = [], file: takes_file = false } = routes[name];
    const rest: Record<string, unknown> = { ...input };
    let url = fullPath(path);
    for (const variable of pathVariables(path)) {
      url = url.replace(`{${variable}}`, encodeURIComponent(String(rest[variable])));
      delete rest[variable];
    }
    const search = new URLSearchParams();
    const without_body = method === 'GET' || method === 'DELETE' || takes_file;
    for (const [key, value] of Object.entries(rest)) {
      if (value === undefined || !(without_body || query.includes(key))) continue;
      search.set(key, typeof value === 'string' ? value : JSON.stringify(value));
      delete rest[key];
    }
    const response = await send(`${options.base_url}${url}${search.size > 0 ? `?${search}` : ''}`, {
      method,
      headers: {
        accept: 'application/problem+json, application/json',
        ...(without_body ? {} : { 'content-type': 'application/json' }),
        ...(takes_file ? { 'content-type': 'application/octet-stream' } : {}),
        ...(request_id === undefined ? {} : { 'x-request-id': request_id }),
        ...options.headers,
      },
      ...(without_body ? {} : { body: JSON.stringify(rest) }),
      ...(takes_file && file !== undefined ? { body: file } : {}),
      ...(signal === undefined ? {} : { signal }),
    });
    if (!response.ok) throw await toError(response);
    return (response.status === 204 ? {} : await response.json()) as Output<typeof name>;
  };
}

/** Code and detail for error responses without a code. The server always sends one, so these come from a proxy. */
const BY_STATUS: Readonly<Record<number, readonly [ErrorCode, string]>> = {
  413: ['too_large', 'A proxy in front of the server does not accept a request of this size.'],
  429: ['rate_limited', 'Too many requests were sent. Wait a moment, then try again.'],
  502: ['unavailable', 'The server is not available: the proxy in front of it cannot reach it.'],
  503: ['unavailable', 'The server is not available. It may be starting or restarting.'],
  504: ['unavailable', 'The server did not answer the proxy in front of it in time.'],
};

/** Returns the code and detail for an error response without a code. */
export const withoutCode = (status: number): readonly [ErrorCode, string] =>
  BY_STATUS[status] ?? ['internal', `The server answered ${status}.`];

async function toError(response: Response): Promise<AppError> {
  const [code, detail] = withoutCode(response.status);
  const body = ((await response.json().catch(() => null)) ?? {}) as {
    detail?: string;
    code?: ErrorCode;
    errors?: FieldError[];
    position?: number;
  };
  const retry_after = Number(response.headers.get('retry-after'));
  return new AppError(body.code ?? code, body.detail ?? detail, {
    errors: body.errors ?? [],
    ...(retry_after > 0 ? { retry_after } : {}),
    ...(body.position === undefined ? {} : { position: body.position }),
  });
}
