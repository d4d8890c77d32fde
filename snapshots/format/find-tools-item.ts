/** The tool of toolsets with `find_tools`. A deployed tool of this name comes first. */
export const FIND_TOOLS = 'find_tools';

/** Most tools in one answer. */
export const MOST_FOUND = 10;

/** As `tools/list` sends it. */
export const FIND_TOOLS_ITEM = JSON.stringify({
  name: FIND_TOOLS,
  title: 'Find tools',
  description:
    'Finds the tools of this server that fit a question best, with their descriptions and input schemas. Use it when it is not clear which tool to call.',
  inputSchema: {
    type: 'object',
    properties: {
      question: { type: 'string', minLength: 1, maxLength: 1_000, description: 'What is needed, as a sentence' },
      limit: { type: 'integer', minimum: 1, maximum: MOST_FOUND, default: MOST_FOUND, description: 'Most tools in the answer' },
    },
    required: ['question'],
  },
  outputSchema: {
    type: 'object',
    properties: {
      tools: {
        type: 'array',
        description: 'The best one first',
        items: {
          type: 'object',
          properties: {
            name: { type: 'string' },
            title: { type: 'string' },
            description: { type: 'string' },
            inputSchema: { type: 'object' },
            score: { type: 'number', description: 'Only comparable within one answer' },
          },
          required: ['name', 'description', 'inputSchema', 'score'],
        },
      },
    },
    required: ['tools'],
  },
  annotations: { readOnlyHint: true, openWorldHint: false },
});
