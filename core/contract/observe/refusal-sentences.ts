/** Says a host of a request without an access token, which is how a client asks where it can sign in. */
export const NO_TOKEN = 'Unauthorized: this server accepts no calls without a valid access token.';
