/** Clients that get a 401 and find no authorization server try to register here (RFC 7591). */
export const REGISTER_PATH = '/register';

const DETAIL =
  'Clients cannot register here. Ask the administrator of this server for an access token, and send a token as Authorization: Bearer <token>.';

/** Refuses with a sentence that clients show to the person; a plain 404 would explain nothing. */
export const refuseRegistration = (): Response =>
  Response.json(
    { error: 'invalid_client_metadata', error_description: DETAIL },
    { status: 400, headers: { 'cache-control': 'no-store', pragma: 'no-cache' } },
  );
