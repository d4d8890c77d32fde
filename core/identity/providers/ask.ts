import { AppError } from '#core/errors.ts';
import { boundedText } from '#core/engines/shared/bounded-text.ts';
import type { DialPolicy } from '#core/engines/shared/source.ts';

/** Maximum length of a response that is read. */
const MOST_CHARACTERS = 256 * 1024;
/** Statuses whose answer has no body (RFC 9110). */
const BODILESS = new Set([204, 205, 304]);

export interface Question {
  readonly method: string;
  readonly headers: HeadersInit;
  readonly body?: BodyInit | null | undefined;
}

/**
 * Sends a request to a provider if the address policy allows it, without following redirects. Rejects with `provider_failed`, or
 * with the error of the policy.
 */
export type Ask = (url: string, question: Question) => Promise<Response>;

/** @param within_ms timeout, including the time to read the response. */
export function createProviderFetch(policy: DialPolicy, within_ms: number): Ask {
  return async (url, { method, headers, body = null }) => {
    const { guardedFetch } = await import('#core/engines/shared/dial.ts');
    try {
      await refusePlainHttp(url, policy);
      const init = { method, headers: new Headers(headers), body, signal: AbortSignal.timeout(within_ms) };
      const answer = await guardedFetch(url, init, policy);
      const text = await boundedText(answer, MOST_CHARACTERS);
      const { status } = answer;
      return new Response(BODILESS.has(status) ? null : text, { status, headers: answer.headers });
    } catch (cause) {
      throw asProviderFault(cause, within_ms);
    }
  };
}

/** A client secret and a code are sent to the provider, so http is only for private networks (OpenID Connect Core, 16.17). */
export async function refusePlainHttp(url: string, policy: DialPolicy): Promise<void> {
  const { protocol, hostname, port } = new URL(url);
  if (protocol === 'https:') return;
  const { resolveTarget } = await import('#core/engines/shared/dial.ts');
  const target = await resolveTarget(hostname, Number(port || 80), policy);
  if (target.private) return;
  throw new AppError(
    'invalid',
    'The provider must be reached over https. Plain http is accepted only at a private address, with SVC_ALLOW_PRIVATE_NETWORKS=true.',
  );
}

function asProviderFault(cause: unknown, within_ms: number): AppError {
  if (!(cause instanceof AppError)) {
    const late = cause instanceof Error && (cause.name === 'TimeoutError' || cause.name === 'AbortError');
    const slow = `The identity provider took longer than ${within_ms / 1_000} seconds to answer.`;
    return new AppError('provider_failed', late ? slow : 'The connection to the identity provider failed.', { cause });
  }
  if (cause.code === 'database_unreachable') return new AppError('provider_failed', cause.detail, { cause });
  if (cause.code !== 'too_large') return cause;
  return new AppError('provider_failed', 'The answer of the identity provider is larger than 256 KiB.', { cause });
}
