import type { OauthRequest } from '#core/contract/identity/oauth.ts';

const EDITORS: Readonly<Record<string, string>> = { 'cursor:': 'Cursor on this computer', 'vscode:': 'VS Code on this computer' };

export const WORDS = {
  title: (name: string) => `Allow ${name} to connect?`,
  title_agent: (name: string) => `Allow ${name} to administer this server?`,
  lead_signed_in: (username: string) => `It will act as you, ${username}.`,
  lead_anonymous: 'Sign in to decide.',
  client: 'Client',
  kind: 'Identity',
  host: 'From',
  answer: 'Answer goes to',
  resource: 'Access to',
  person: 'Signed in as',
  /** Where the answer goes. */
  target: ({ redirect_host, redirect_scheme }: OauthRequest): string => {
    if (redirect_host !== null) return redirect_host;
    if (redirect_scheme === 'http:') return 'A program on this computer';
    return EDITORS[redirect_scheme] ?? `An app on this computer (${redirect_scheme})`;
  },
  careful:
    'Continue only if you started this sign-in yourself, a moment ago. Anyone can register a client under any name and send you this page.',
  careful_local:
    'The answer goes to a program on this computer. Continue only if you started this sign-in yourself, a moment ago.',
  agent: 'This client can change this server within the permissions below.',
  scopes: 'Permissions',
  tools: (names: readonly string[], total: number): string => {
    if (total === 0) return 'Nothing is deployed yet.';
    const more = total - names.length;
    return `${names.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
  },
  narrowed: 'The client asked for permissions that you cannot give. It gets only what is listed here.',
  none: 'Turn on at least one permission.',
  approve: 'Allow',
  deny: 'Deny',
  other: 'Use another account',
  gone_title: 'This sign-in request is no longer open',
  gone: 'It expired, was already decided, or started in another browser. Start again in your client.',
  going: 'Returning to your client…',
  stay: 'You can close this window if your client does not open by itself.',
  unsafe: 'The answer would go to an address that is not safe to open. Nothing was sent.',
} as const;
