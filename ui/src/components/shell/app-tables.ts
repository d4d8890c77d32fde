/** The key of each page, after `g`. */
export const LETTERS: Readonly<Record<string, string>> = {
  '/': 'o',
  '/connections': 'c',
  '/tools': 't',
  '/resources': 'r',
  '/prompts': 'p',
  '/toolsets': 'b',
  '/tests': 'x',
  '/flow': 'f',
  '/deploy': 'd',
  '/proposals': 'v',
  '/playground': 'y',
  '/metrics': 'm',
  '/insights': 'n',
  '/logs': 'l',
  '/queue': 'q',
  '/history': 'h',
  '/access': 'a',
  '/agents': 'g',
  '/people': 'e',
  '/sign-in': 'k',
  '/transfer': 'i',
  '/settings': 's',
  '/account': 'u',
};

/** What is created from anywhere, and where. */
export const CREATIONS = [
  ['Create tool', '/tools/new'],
  ['Create resource', '/resources/new'],
  ['Create prompt', '/prompts/new'],
  ['Create toolset', '/toolsets/new'],
  ['New connection', '/connections/new'],
  ['New access token for MCP clients', '/access?ask=token'],
  ['Invite person', '/people?ask=invite'],
] as const;
