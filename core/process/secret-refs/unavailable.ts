import { AppError } from '#core/errors.ts';

/** A reference is not a secret, so the sentence names it. */
export const unavailable = (ref: string, what: string, cause?: unknown): AppError =>
  new AppError('secrets_unavailable', `The secret ${ref} ${what}.`, cause === undefined ? {} : { cause });
