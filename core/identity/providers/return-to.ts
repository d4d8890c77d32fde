/** The page that confirms a write carries its question in its address, which has at most 3 800 characters. */
const LONGEST = 7_000;
/** Read as an address of this server, whichever name it has. */
const HERE = 'http://here.invalid';

/**
 * A place of this server that a sign-in may return to, as its path; null for everything else. Browsers read `\` as `/`, drop tabs
 * and line ends, and resolve dots before they look for a host (URL Standard), so the text is checked as they would read it.
 */
export function ownPath(text: string): string | null {
  if (text.length > LONGEST || !text.startsWith('/') || /[\p{Cc} \\]/u.test(text) || !URL.canParse(text, HERE)) return null;
  const { origin, pathname, search, hash } = new URL(text, HERE);
  const path = `${pathname}${search}${hash}`;
  // What is left of `/.//host` when its dots are resolved names a host.
  if (origin !== HERE || path.startsWith('//')) return null;
  // Pages alone: an operation is not something to come back to.
  return /^\/(?:api|agent-mcp|mcp)(?:\/|$|[?#])/i.test(decoded(pathname)) ? null : path;
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}
