/** Redirect addresses of clients (RFC 6749 section 3.1.2, RFC 8252 sections 7 and 8, RFC 9700 section 2.1). */

const LONGEST = 2_048;
/** Browsers run or display the content of these addresses in the page that opens them. */
const DANGEROUS = new Set(['javascript:', 'data:', 'vbscript:', 'file:', 'blob:', 'about:', 'view-source:', 'filesystem:']);
/** Private schemes of editors that register themselves. An administrator's app may have others. */
const PRIVATE = new Set(['cursor:', 'vscode:']);
const LOOPBACK = /^http:\/\/(localhost|127\.0\.0\.1|\[::1\])(?::(\d{1,5}))?(\/.*)?$/;

export type RedirectKind = 'https' | 'loopback' | 'private';

/** The kind of an address. `dangerous`: a browser runs its content. Null: not a valid redirect address. */
export function redirectKindOf(text: string): RedirectKind | 'dangerous' | null {
  const scheme = /^([a-z][a-z0-9+.-]*:)/i.exec(text.trim())?.[1]?.toLowerCase();
  if (scheme !== undefined && DANGEROUS.has(scheme)) return 'dangerous';
  // Addresses are compared as text, so characters that browsers interpret differently are refused.
  if (text.length > LONGEST || /[^\x21-\x7e]|[\\#"<>^`{|}]/.test(text) || !URL.canParse(text)) return null;
  const url = new URL(text);
  if (DANGEROUS.has(url.protocol)) return 'dangerous';
  if (url.username !== '' || url.password !== '') return null;
  if (url.protocol === 'https:') return url.hostname === '' ? null : 'https';
  if (url.protocol === 'http:') return LOOPBACK.test(text) && url.port !== '0' ? 'loopback' : null;
  return 'private';
}

/** Whether a client that no administrator has approved may use the address. */
export const isOpenTarget = (text: string): boolean => {
  const target = redirectKindOf(text);
  return target === 'https' || target === 'loopback' || (target === 'private' && PRIVATE.has(new URL(text).protocol));
};

/**
 * Compares the exact text. Only the port of a loopback address may differ (RFC 8252 section 7.3; also of `localhost`, which
 * clients use).
 */
export function redirectMatches(registered: readonly string[], asked: string): boolean {
  const target = redirectKindOf(asked);
  if (target === null || target === 'dangerous') return false;
  return registered.some((known) => known === asked || (target === 'loopback' && withoutPort(known) === withoutPort(asked)));
}

function withoutPort(text: string): string {
  const [, host, , rest = ''] = LOOPBACK.exec(text) ?? [];
  return host === undefined ? text : `http://${host}${rest === '' ? '/' : rest}`;
}

/** The host of an address. Null for a program on the person's computer. */
export const hostOfTarget = (text: string): string | null => (redirectKindOf(text) === 'https' ? new URL(text).host : null);
