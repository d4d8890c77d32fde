import type { ControlPlane } from '#core/control-plane/control-plane.ts';
import type { Context } from 'hono';
import { HTTPException } from 'hono/http-exception';
import { AppError } from '#core/errors.ts';

/**
 * Every error answer of the REST API (contract section 1): `{"detail"}` alone, or the form of RFC 9457 for callers that
 * accept it. What went wrong inside is logged with the request id and not sent.
 */
export function answerFault(app: ControlPlane, c: Context, error: unknown): Response {
  const fault = toAppError(error);
  const request_id = c.res.headers.get('x-request-id') ?? '';
  if (fault.status >= 500) app.log.error('request failed', { request_id, code: fault.code, reason: reasonOf(error) });
  const headers = new Headers({ 'x-request-id': request_id });
  if (fault.retry_after !== undefined) headers.set('retry-after', String(fault.retry_after));
  if (fault.status === 401) headers.set('www-authenticate', 'Bearer');
  if (!(c.req.header('accept') ?? '').includes('application/problem+json')) {
    headers.set('content-type', 'application/json');
    return new Response(JSON.stringify({ detail: fault.detail }), { status: fault.status, headers });
  }
  headers.set('content-type', 'application/problem+json');
  const problem = {
    type: 'about:blank',
    title: fault.code.replaceAll('_', ' '),
    status: fault.status,
    detail: fault.detail,
    code: fault.code,
    errors: fault.errors,
    request_id,
    ...(fault.position === undefined ? {} : { position: fault.position }),
  };
  return new Response(JSON.stringify(problem), { status: fault.status, headers });
}

/** The answer to a fault of the listener itself, beyond the routes. */
export function faultOutside(app: ControlPlane, error: unknown): Response {
  const request_id = app.ids();
  app.log.error('request failed', { request_id, code: 'internal', reason: reasonOf(error) });
  return Response.json({ detail: toAppError(error).detail }, { status: 500, headers: { 'x-request-id': request_id } });
}

function toAppError(error: unknown): AppError {
  // A store says what is the matter inside the fault of the library that asked it.
  for (let fault: unknown = error; fault instanceof Error; fault = fault.cause) if (fault instanceof AppError) return fault;
  if (error instanceof HTTPException && error.status < 500)
    return new AppError('bad_request', 'The request could not be read.', { cause: error });
  return new AppError('internal', 'Something went wrong in the server. The log has the details for this request id.', {
    cause: error,
  });
}

/** For the log: the chain of causes, without the values of statements that a driver puts into messages. */
function reasonOf(error: unknown): string {
  const parts: string[] = [];
  for (let fault: unknown = error; fault instanceof Error && parts.length < 5; fault = fault.cause) {
    parts.push(`${fault.name}: ${fault.message.split('\nparams:')[0]?.slice(0, 500) ?? ''}`);
  }
  const stack =
    error instanceof Error
      ? (error.stack
          ?.split('\n')
          .map((line) => line.trim())
          // The message stands there too, and may be of several lines.
          .filter((line) => line.startsWith('at '))
          .slice(0, 3)
          .join(' ') ?? '')
      : '';
  return `${parts.join(' ← ')} ${stack}`;
}
