/** Where clients that met a 401 and found no authorization server try to register themselves (RFC 7591). */
export const REGISTER_PATH = '/register';

const DETAIL =
  'Clients cannot register here. Ask the administrator of this server for an access token, and send a token as Authorization: Bearer <token>.';

/** Clients show the sentence to the person; of a plain 404 they would make a riddle. */
export const refuseRegistration = (): Response =>
  Response.json(
    { error: 'invalid_client_metadata', error_description: DETAIL },
    { status: 400, headers: { 'cache-control': 'no-store', pragma: 'no-cache' } },
  );
