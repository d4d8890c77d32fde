/** The page that asks for consent; the interface shows it. */
export const CONSENT_PATH = '/oauth/consent';
const AUTHORIZE_PATH = '/oauth/authorize';

/** Clients open these in a separate window and wait until it closes. A policy of `same-origin` would disconnect them from it. */
export const opensWindows = (path: string): boolean => path === CONSENT_PATH || path === AUTHORIZE_PATH;

const OPEN = new Set(['/oauth/token', '/oauth/register', '/oauth/revoke', '/oauth/jwks']);
const METADATA = '/.well-known/oauth-';

/** Paths that pages of any origin may request: none of their routes reads a cookie. */
export const isOpenToPages = (path: string): boolean => OPEN.has(path) || path.startsWith(METADATA);
