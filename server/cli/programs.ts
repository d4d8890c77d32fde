/** The programs that the `sluice` command starts; they run until a signal. */
export const PROGRAM_WORDS = {
  start: {
    usage: 'start',
    summary:
      'start server, MCP host and agent endpoint together; without SVC_ENV and SVC_ENCRYPTION_KEY in development mode, with secrets and a demo of its own',
  },
  server: { usage: 'server', summary: 'start the server alone (unless SVC_ROLE is set)' },
  host: { usage: 'host', summary: 'start an MCP host, which follows the server at SVC_SERVER_URL' },
  agent: { usage: 'agent', summary: 'start the agent endpoint, which administers the server at SVC_SERVER_URL' },
  stdio: {
    usage: 'stdio [--toolset NAME]',
    summary: 'serve the MCP client that starts it over standard input and output',
  },
} as const;

type ProgramWord = keyof typeof PROGRAM_WORDS;

const isWord = (word: string): word is ProgramWord => Object.hasOwn(PROGRAM_WORDS, word);

/** Whether to start a program. The command line answers `--help`, and arguments that only `stdio` accepts. */
export function isProgramWord(word: string, rest: readonly string[]): word is ProgramWord {
  if (!isWord(word) || rest.includes('--help') || rest.includes('-h')) return false;
  return rest.length === 0 || word === 'stdio';
}
