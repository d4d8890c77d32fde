/** The page that asks for consent; the interface shows it. */
export const CONSENT_PATH = '/oauth/consent';
const AUTHORIZE_PATH = '/oauth/authorize';

/** Clients open these in a window of their own and wait for its end: a policy of `same-origin` would cut them off from it. */
export const opensWindows = (path: string): boolean => path === CONSENT_PATH || path === AUTHORIZE_PATH;

const OPEN = new Set(['/oauth/token', '/oauth/register', '/oauth/revoke', '/oauth/jwks']);
const METADATA = '/.well-known/oauth-';

/** What pages of any origin may ask for: nothing there looks at a cookie. */
export const isOpenToPages = (path: string): boolean => OPEN.has(path) || path.startsWith(METADATA);
