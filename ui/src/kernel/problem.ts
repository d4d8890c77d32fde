import type { ErrorCode, FieldError } from '#core/errors.ts';
import { capital } from './words.ts';

/** A failed call as a page shows it. `offline` means that no answer came at all. */
export interface Problem {
  readonly code: ErrorCode | 'offline' | 'aborted';
  readonly detail: string;
  readonly errors: readonly FieldError[];
  /** Seconds until a repetition makes sense. */
  readonly retry_after?: number;
  /** Offset in characters, from 0, in the statement that was refused. */
  readonly position?: number;
  /** It is asked again without anybody pressing a button. */
  readonly retried?: boolean;
}

/** Whether it passes by itself: what only reads may be asked again without anybody pressing a button. */
export const isPassing = ({ code }: Pick<Problem, 'code'>): boolean =>
  code === 'offline' || code === 'unavailable' || code === 'rate_limited';

export const OFFLINE = 'The server did not answer. Check that it is running and that this browser can reach it.';
const LOST =
  'The server did not answer, but it may have applied the change. Check that it is running and that this browser can reach it, then try again.';

/** A change was sent and never answered. */
export class LostAnswer extends TypeError {}

/** Whether what was sent may have happened all the same. */
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
  // What fetch rejects with when there is no connection, in every browser.
  if (fault instanceof TypeError) return { code: 'offline', detail: fault instanceof LostAnswer ? LOST : OFFLINE, errors: [] };
  return {
    code: 'internal',
    detail: 'The response could not be read. Reload the page. If it happens again, check the server log.',
    errors: [],
  };
}

const GONE = /^There is no ([a-z][a-z -]*) with this id\.(?=( .+)?$)/;
const NO_SESSION = 'Sign in first. This request has no valid session';

/** What the server says to programs as well, for a person, who knows no id and had a session. */
function atPage(code: ErrorCode, detail: string): string {
  if (code === 'unauthenticated' && detail.startsWith(NO_SESSION)) return 'Your session ended. Sign in and try again.';
  if (code !== 'not_found') return detail;
  return detail.replace(
    GONE,
    (_, record: string, reason?: string) =>
      `This ${record} no longer exists.${reason === undefined ? ' Someone may have deleted it.' : ''}`,
  );
}

/** Whether the code of a page could not be fetched, in the words of Chromium, Firefox, Safari and Vite; another fault is one of the code. */
export const isUnloaded = (fault: unknown): boolean =>
  fault instanceof Error && /dynamically imported module|importing a module script|unable to preload/i.test(fault.message);

/**
 * The sentence at a field. “port must be at least 1.” needs no subject below the label Port; “port is taken.” does, and has
 * that of the labels.
 */
export function bare(message: string, field: string, labels: Readonly<Record<string, string>> = {}): string {
  const rest = field !== '' && message.startsWith(`${field} `) ? message.slice(field.length + 1) : message;
  return rest === message || rest.startsWith('must ') ? capital(rest) : `${labels[field] ?? called(field)} ${rest}`;
}

function called(field: string): string {
  const last = field.split('.').at(-1) ?? '';
  return /^\d+$/.test(last) ? `Entry ${Number(last) + 1}` : capital(last.replaceAll('_', ' '));
}

/** The sentence at one field, or undefined. */
export function fieldError(problem: Problem | undefined, field: string, label?: string): string | undefined {
  const message = problem?.errors.find((error) => error.field === field)?.message;
  return message === undefined ? undefined : bare(message, field, label === undefined ? {} : { [field]: label });
}

/** The sentence at one field, or at the first of its parts that is wrong. */
export function fieldErrorWithin(problem: Problem | undefined, field: string): string | undefined {
  const found = problem?.errors.find((error) => error.field === field || error.field.startsWith(`${field}.`));
  return found && bare(found.message, found.field);
}

/** What remains to be said when every given field shows its own sentence. */
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
