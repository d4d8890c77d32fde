import { Provider } from 'oidc-provider';

/** A certified OpenID Connect provider as a program of its own: `bun oidc-provider-program.mjs <port> <redirect_uri> <client_secret>`. */
const [port = '0', redirect_uri = '', client_secret = ''] = process.argv.slice(2);
const issuer = `http://127.0.0.1:${port}`;

/** What it knows of whoever signs in: the name that was typed is the subject. */
const account = (sub) => ({
  sub,
  name: 'Grace Hopper',
  preferred_username: sub,
  email: `${sub}@example.com`,
  email_verified: true,
  groups: sub === 'grace' ? ['data', 'staff'] : ['guests'],
});

const provider = new Provider(issuer, {
  clients: [
    {
      client_id: 'sluice',
      client_secret,
      redirect_uris: [redirect_uri],
      response_types: ['code'],
      grant_types: ['authorization_code'],
    },
  ],
  claims: { openid: ['sub'], profile: ['name', 'preferred_username'], email: ['email', 'email_verified'], groups: ['groups'] },
  scopes: ['openid', 'profile', 'email', 'groups'],
  cookies: { keys: ['a key for the cookies of a test'] },
  findAccount: (_, sub) => ({ accountId: sub, claims: () => account(sub) }),
  async loadExistingGrant(ctx) {
    const { oidc } = ctx;
    const grant = new oidc.provider.Grant({ clientId: oidc.client?.clientId ?? '', accountId: oidc.session?.accountId ?? '' });
    grant.addOIDCScope('openid profile email groups');
    await grant.save();
    return grant;
  },
});
provider.listen(Number(port), '127.0.0.1', () => console.log('ready'));
