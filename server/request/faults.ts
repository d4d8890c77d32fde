import type { ControlPlane } from '#core/control-plane/control-plane.ts';
import type { Context } from 'hono';
import { HTTPException } from 'hono/http-exception';
import { AppError } from '#core/errors.ts';
import { traceOf } from '#core/process/log.ts';

/**
 * Every error response of the REST API: `{"detail"}` alone, or the form of RFC 9457 for callers that accept it. Internal causes
 * are logged with the request id and not sent.
 */
export function answerFault(app: ControlPlane, c: Context, error: unknown): Response {
  const fault = toAppError(error);
  const request_id = c.res.headers.get('x-request-id') ?? '';
  if (fault.status >= 500) app.log.error('request failed', { request_id, code: fault.code, reason: traceOf(error) });
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

/** The response to a fault of the listener, outside the routes. */
export function faultOutside(app: ControlPlane, error: unknown): Response {
  const request_id = app.ids();
  app.log.error('request failed', { request_id, code: 'internal', reason: traceOf(error) });
  return Response.json({ detail: toAppError(error).detail }, { status: 500, headers: { 'x-request-id': request_id } });
}

function toAppError(error: unknown): AppError {
  // Drizzle wraps errors of the store, so the cause has the `AppError`.
  for (let fault: unknown = error; fault instanceof Error; fault = fault.cause) if (fault instanceof AppError) return fault;
  if (error instanceof HTTPException && error.status < 500)
    return new AppError('bad_request', 'The request could not be read.', { cause: error });
  return new AppError('internal', 'Something went wrong in the server. The log has the details for this request id.', {
    cause: error,
  });
}
