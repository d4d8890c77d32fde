import type { Output } from '#core/contract/index.ts';

export type Home = Output<'home.get'>;
type Server = NonNullable<Home['server']>;

const AN_ADMINISTRATOR = 'an administrator';
/** Whom to ask, within a sentence. */
export const contactOf = ({ contact }: Pick<Home, 'contact'>): string => contact ?? AN_ADMINISTRATOR;

/** How a client gets in, by what the server asks of it. */
export const SIGN_IN_WORDS: Readonly<Record<Server['auth_type'], (contact: string, username: string) => string>> = {
  none: () => 'Anyone who can reach this address can connect. No sign-in is needed.',
  oauth: (_, username) =>
    `Add the address to your client. It opens a browser window, where you sign in as ${username} and allow the client. No token is needed.`,
  bearer: (contact) => `Clients connect with an access token. Ask ${contact} for one, and replace YOUR_TOKEN with it.`,
  oauth_credentials: (contact) =>
    `Clients connect with a client ID and secret, which they exchange for a token. Ask ${contact} for them.`,
  oauth_introspection: (contact) =>
    `Clients connect with a token of your organization’s authorization server. Ask ${contact} how to get one.`,
  jwt: (contact) => `Clients connect with a token of your organization’s authorization server. Ask ${contact} how to get one.`,
};

/** Why no client can connect now; undefined: one can. */
export function outageOf({ status, server }: Home, contact: string): string | undefined {
  if (server === null) return undefined;
  if (server.transport === 'stdio')
    return `This MCP server runs over stdio on Sluice’s machine, so clients elsewhere can’t connect. Ask ${contact}.`;
  if (status === 'stopped')
    return `The MCP server is stopped, so clients can’t connect. Ask ${contact} when it will start again.`;
  return status === 'error'
    ? `The MCP server isn’t running, so clients can’t connect. ${contactFirst(contact)} can check why.`
    : undefined;
}

const contactFirst = (contact: string): string => (contact === AN_ADMINISTRATOR ? 'An administrator' : contact);

/** Why there is nothing to call. */
export function emptyOf(home: Home, contact: string): { readonly title: string; readonly text: string } {
  if (home.status === 'stopped')
    return { title: 'Nothing to call while the server is stopped', text: 'Your tools are listed here when it runs.' };
  if (home.listed_by === 'token')
    return {
      title: 'Your token decides what you can call',
      text: 'Your client lists the tools once it is connected.',
    };
  if (home.listed_by === 'machine')
    return { title: 'Tools are listed on Sluice’s machine', text: 'A client that starts the server there lists them.' };
  if (home.listed_by === 'person' && home.toolsets.length === 0)
    return { title: 'No tools for you yet', text: `None of your groups has a toolset. Ask ${contact} to add you to a group.` };
  return { title: 'No tools yet', text: `Nothing that you can call is deployed. Ask ${contact} to add tools.` };
}
