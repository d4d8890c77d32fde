import type { ErrorCode, FieldError } from '#core/errors.ts';
import { capital } from './words.ts';

/** A failed call as a page shows it. `offline` means that there was no answer. */
export interface Problem {
  readonly code: ErrorCode | 'offline' | 'aborted';
  readonly detail: string;
  readonly errors: readonly FieldError[];
  /** Seconds before a retry makes sense. */
  readonly retry_after?: number;
  /** Offset of the error in the refused statement, in characters from 0. */
  readonly position?: number;
  /** Sluice retries automatically. */
  readonly retried?: boolean;
}

/** Whether the problem is temporary: reads may be retried automatically. */
export const isPassing = ({ code }: Pick<Problem, 'code'>): boolean =>
  code === 'offline' || code === 'unavailable' || code === 'rate_limited';

export const OFFLINE = 'The server did not answer. Check that it is running and that this browser can reach it.';
const LOST =
  'The server did not answer, but it may have applied the change. Check that it is running and that this browser can reach it, then try again.';

/** A change was sent, and no answer arrived. */
export class LostAnswer extends TypeError {}

/** Whether the request may have taken effect in spite of the error. */
export const isLost = ({ code }: Pick<Problem, 'code'>): boolean =>
  code === 'offline' || code === 'unavailable' || code === 'internal';

export function toProblem(fault: unknown): Problem {
  if (isAnswer(fault)) {
    const { code, detail, errors, retry_after, position } = fault;
    return {
      code,
      detail: atPage(code, detail),
      errors,
      ...(retry_after === undefined ? {} : { retry_after }),
      ...(position === undefined ? {} : { position }),
    };
  }
  if (fault instanceof DOMException && fault.name === 'AbortError') {
    return { code: 'aborted', detail: 'The request was cancelled.', errors: [] };
  }
  if (fault instanceof DOMException && fault.name === 'TimeoutError') {
    return { code: 'unavailable', detail: 'The server took too long to answer.', errors: [] };
  }
  // In every browser `fetch` rejects with a TypeError when there is no connection.
  if (fault instanceof TypeError) return { code: 'offline', detail: fault instanceof LostAnswer ? LOST : OFFLINE, errors: [] };
  return {
    code: 'internal',
    detail: 'The response could not be read. Reload the page. If it happens again, check the server log.',
    errors: [],
  };
}

const GONE = /^There is no ([a-z][a-z -]*) with this id\.(?=( .+)?$)/;
const NO_SESSION = 'Sign in first. This request has no valid session';

/** The message for a person: API messages mention ids and sessions. */
function atPage(code: ErrorCode, detail: string): string {
  if (code === 'unauthenticated' && detail.startsWith(NO_SESSION)) return 'Your session ended. Sign in and try again.';
  if (code !== 'not_found') return detail;
  return detail.replace(
    GONE,
    (_, record: string, reason?: string) =>
      `This ${record} no longer exists.${reason === undefined ? ' Someone may have deleted it.' : ''}`,
  );
}

/** Whether the code of a page failed to load, by the messages of Chromium, Firefox, Safari and Vite; other errors come from the code. */
export const isUnloaded = (fault: unknown): boolean =>
  fault instanceof Error && /dynamically imported module|importing a module script|unable to preload/i.test(fault.message);

/** The error below a field. “port must be at least 1.” loses its subject below the label Port; “port is taken.” keeps it, as the label. */
export function bare(message: string, field: string, labels: Readonly<Record<string, string>> = {}): string {
  const rest = field !== '' && message.startsWith(`${field} `) ? message.slice(field.length + 1) : message;
  return rest === message || rest.startsWith('must ') ? capital(rest) : `${labels[field] ?? called(field)} ${rest}`;
}

function called(field: string): string {
  const last = field.split('.').at(-1) ?? '';
  return /^\d+$/.test(last) ? `Entry ${Number(last) + 1}` : capital(last.replaceAll('_', ' '));
}

/** The error of a field, or undefined. */
export function fieldError(problem: Problem | undefined, field: string, label?: string): string | undefined {
  const message = problem?.errors.find((error) => error.field === field)?.message;
  return message === undefined ? undefined : bare(message, field, label === undefined ? {} : { [field]: label });
}

/** The error of a field, or of its first invalid part. */
export function fieldErrorWithin(problem: Problem | undefined, field: string): string | undefined {
  const found = problem?.errors.find((error) => error.field === field || error.field.startsWith(`${field}.`));
  return found && bare(found.message, found.field);
}

/** The remaining error when the given fields show their errors themselves. */
export function generalError(problem: Problem | undefined, fields: readonly string[]): string | undefined {
  if (problem === undefined) return undefined;
  const shown = problem.errors.filter((error) => fields.includes(error.field));
  return shown.length > 0 && shown.length === problem.errors.length ? undefined : problem.detail;
}

interface Answer {
  readonly code: ErrorCode;
  readonly detail: string;
  readonly errors: readonly FieldError[];
  readonly retry_after: number | undefined;
  readonly position: number | undefined;
}

const isAnswer = (fault: unknown): fault is Answer =>
  fault instanceof Error && 'code' in fault && 'detail' in fault && typeof fault.detail === 'string' && 'errors' in fault;
