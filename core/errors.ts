/** Every error code of the product and its HTTP status. */
export const ERROR_STATUS = {
  bad_request: 400,
  sql_error: 400,
  not_read_only: 400,
  wrong_code: 400,
  unauthenticated: 401,
  forbidden: 403,
  admin_only: 403,
  role_required: 403,
  proof_required: 403,
  approval_required: 403,
  caller_value_missing: 403,
  confirmation_required: 403,
  declined: 403,
  insufficient_scope: 403,
  not_found: 404,
  method_not_allowed: 405,
  conflict: 409,
  secrets_unavailable: 409,
  too_many_rows: 409,
  not_countable: 409,
  plan_too_large: 409,
  too_large: 413,
  unsupported_media_type: 415,
  invalid: 422,
  private_network_blocked: 422,
  passthrough_sql_blocked: 422,
  prompt_injection_blocked: 422,
  secret_required: 422,
  cannot_deploy: 422,
  gate_failed: 422,
  rate_limited: 429,
  cancelled: 499,
  internal: 500,
  database_unreachable: 502,
  provider_failed: 502,
  tunnel_unreachable: 502,
  tunnel_refused: 502,
  tunnel_host_key: 502,
  unavailable: 503,
  queue_full: 503,
  no_free_slot: 503,
  timeout: 504,
} as const;

export type ErrorCode = keyof typeof ERROR_STATUS;

/** Errors of the SSH tunnel of a connection. */
export const TUNNEL_CODES = ['tunnel_unreachable', 'tunnel_refused', 'tunnel_host_key'] as const satisfies readonly ErrorCode[];

/** Refusals by a security control: each adds an entry to the history. */
export const CONTROLS: readonly ErrorCode[] = ['private_network_blocked', 'passthrough_sql_blocked', 'prompt_injection_blocked'];

/** A fault of one field of a request: `field` is a dotted path such as `parameters.0.name`. */
export interface FieldError {
  readonly field: string;
  readonly message: string;
  /** The gate of a deploy that found it. */
  readonly gate?: string;
  /** The lint rule that found it. */
  readonly rule?: string;
}

export interface AppErrorOptions {
  /** What went wrong underneath; logged, never sent. */
  readonly cause?: unknown;
  readonly errors?: readonly FieldError[];
  /** Seconds after which a repetition makes sense (`Retry-After`). */
  readonly retry_after?: number;
  /** Why a database connection failed, for the classified connection test. */
  readonly reason?: string;
  /** Offset in characters, from 0, in the statement that the database or parser complained about. */
  readonly position?: number;
}

/** The one error that the edges translate. `detail` is a sentence for a person and holds no value, secret or stack. */
export class AppError extends Error {
  override readonly name = 'AppError';
  readonly code: ErrorCode;
  readonly detail: string;
  readonly errors: readonly FieldError[];
  readonly retry_after: number | undefined;
  readonly reason: string | undefined;
  readonly position: number | undefined;

  constructor(code: ErrorCode, detail: string, options: AppErrorOptions = {}) {
    const sentence = /[.!?…]$/.test(detail) ? detail : `${detail}.`;
    super(sentence, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.detail = sentence;
    this.errors = options.errors ?? [];
    this.retry_after = options.retry_after;
    this.reason = options.reason;
    this.position = options.position;
  }

  get status(): number {
    return ERROR_STATUS[this.code];
  }
}

/** A refusal as a value, for an edge that answers it in its protocol; any other error is thrown again. */
export function asFault(error: unknown): AppError {
  if (error instanceof AppError) return error;
  throw error;
}

/** `reason` of a change whose commit was sent and not answered: a caller that repeats it may make it twice. */
export const COMMIT_UNKNOWN = 'commit_unknown';

/** Begins the sentence of what fails behind a commit. */
export const CHANGE_MADE = 'The change was made, but its result cannot be shown:';

/** Why a commit failed. The change is only known to be undone when the database itself refused the commit. */
export function commitError(error: unknown): AppError {
  if (error instanceof AppError && (error.code === 'sql_error' || error.code === 'unavailable')) return error;
  const detail = 'The database did not confirm the commit. Check whether the change was made before you try again.';
  return new AppError('database_unreachable', detail, { reason: COMMIT_UNKNOWN, cause: error });
}

/** A refusal that belongs to one field. */
export function invalidField(field: string, message: string, code: ErrorCode = 'invalid'): AppError {
  return new AppError(code, message, { errors: [{ field, message }] });
}

/** Refuses when there are faults, with all of them. */
export function refuseFields(errors: readonly FieldError[]): void {
  if (errors.length > 0) throw new AppError('invalid', errors.map(({ message }) => message).join(' '), { errors });
}

/** A question that names the known word that an unknown one is likely a slip for, after a blank; empty when there is none. */
export function didYouMean(word: string, known: readonly string[]): string {
  const typed = word.slice(0, 64).toLowerCase();
  const near = known
    .filter((candidate) => looksLike(typed, candidate.toLowerCase()) || isPart(typed, candidate.toLowerCase()))
    .map((candidate) => ({ candidate, distance: editDistance(typed, candidate.toLowerCase()) }))
    .toSorted((a, b) => a.distance - b.distance);
  return near[0] === undefined ? '' : ` Did you mean ${near[0].candidate}?`;
}

/** A word of a name, such as `port` of `server_port`. */
const SHORTEST_PART = 4;
const isPart = (typed: string, candidate: string): boolean =>
  Math.min(typed.length, candidate.length) >= SHORTEST_PART && (candidate.includes(typed) || typed.includes(candidate));

/** Names that are looked at: who sends thousands learns from the first what is wrong. */
const LOOKED_AT = 20;

/**
 * Of names that are not declared, those that look like a slip for one that is missing. Others are not at fault: some clients add
 * extra arguments to every call.
 */
export function misspelt(undeclared: readonly string[], missing: readonly string[]): FieldError[] {
  return undeclared.slice(0, LOOKED_AT).flatMap((name) => {
    const field = name.slice(0, 64);
    const meant = missing.find((candidate) => looksLike(field.toLowerCase(), candidate.toLowerCase()));
    return meant === undefined ? [] : [{ field, message: `There is no argument ${field}. Did you mean ${meant}?` }];
  });
}

/** Whether so few letters differ that one name is likely a slip for the other. */
function looksLike(name: string, candidate: string): boolean {
  const length = Math.max(name.length, candidate.length);
  const most = Math.min(Math.floor((length + 1) / 3), Math.ceil(length / 2) - 1);
  return Math.abs(name.length - candidate.length) <= most && editDistance(name, candidate) <= most;
}

/** Levenshtein's. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const substitution = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, substitution));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
