/** The refusal that hosts report for requests without an access token. Clients send these to find out where to sign in. */
export const NO_TOKEN = 'Unauthorized: this server accepts no calls without a valid access token.';
