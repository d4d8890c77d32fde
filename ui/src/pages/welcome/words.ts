export const WORDS = {
  connect: {
    title: 'Connect a database',
    text: 'Enter an address and a user. A read-only user is the safest start.',
    own: 'Connect a database',
    done: 'Connected',
  },
  tool: {
    title: 'Create a tool from a table',
    text: 'Choose a table to generate a typed tool that reads its rows. Review the SQL, try it and save it.',
    blank: 'Write your own SQL',
    none: 'This user can see no tables. Write your own SQL.',
    more: 'All tables',
    done: 'Tool created',
  },
  deploy: {
    title: 'Deploy it',
    text: 'A deploy freezes what you saved into a version that the MCP server serves. Clients see nothing before that.',
    action: 'Deploy',
    done: 'Deployed',
    live: (version: number) => `Version ${version} is live.`,
  },
  client: {
    title: 'Connect your client',
    text: 'Add the MCP server to your client, then ask something that needs the tool.',
    waiting: 'Waiting for the first call…',
    done: 'Client connected',
    playground: 'Open playground',
  },
} as const;
