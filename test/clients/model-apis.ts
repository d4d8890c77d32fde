/** The streaming APIs of Anthropic, OpenAI (responses and chat completions) and Gemini, as much as the clients use of them. */
export type Json = Readonly<Record<string, unknown>>;
export interface Offer {
  readonly name: string;
  readonly schema: unknown;
  readonly namespace?: string;
}
export interface Api {
  readonly path: RegExp;
  /** The tools in a request, and the results of tool calls. */
  offers(body: Json): Offer[];
  results(body: Json): unknown[];
  /** The events of an answer: a call of the tool, or text. */
  call(tool: Offer, args: Json): Json[];
  say(text: string): Json[];
}

const newId = (): string => crypto.randomUUID();
const list = (value: unknown): Json[] => (Array.isArray(value) ? value : []);
const USAGE = { input_tokens: 1, output_tokens: 1, total_tokens: 2 };

const anthropic: Api = {
  path: /\/v1\/messages$/,
  offers: ({ tools }) => list(tools).map(({ name, input_schema }) => ({ name: String(name), schema: input_schema })),
  results: ({ messages }) =>
    list(messages)
      .flatMap(({ content }) => list(content))
      .filter(({ type }) => type === 'tool_result')
      .map(({ content }) => content),
  call: ({ name }, args) =>
    anthropicTurn(
      'tool_use',
      { type: 'tool_use', id: newId(), name, input: {} },
      { type: 'input_json_delta', partial_json: JSON.stringify(args) },
    ),
  say: (text) => anthropicTurn('end_turn', { type: 'text', text: '' }, { type: 'text_delta', text }),
};

const anthropicTurn = (stop_reason: string, content_block: Json, delta: Json): Json[] => [
  {
    type: 'message_start',
    message: { id: newId(), type: 'message', role: 'assistant', model: 'scripted', content: [], stop_reason: null, usage: USAGE },
  },
  { type: 'content_block_start', index: 0, content_block },
  { type: 'content_block_delta', index: 0, delta },
  { type: 'content_block_stop', index: 0 },
  { type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage: USAGE },
  { type: 'message_stop' },
];

const responses: Api = {
  path: /\/responses$/,
  offers: ({ tools }) =>
    list(tools).flatMap(({ name, parameters, tools: inner }) =>
      inner === undefined
        ? [{ name: String(name), schema: parameters }]
        : list(inner).map((tool) => ({ name: String(tool['name']), schema: tool['parameters'], namespace: String(name) })),
    ),
  results: ({ input }) =>
    list(input)
      .filter(({ type }) => type === 'function_call_output')
      .map(({ output }) => output),
  call: ({ name, namespace }, args) =>
    responsesTurn({ type: 'function_call', call_id: newId(), name, namespace, arguments: JSON.stringify(args) }),
  say: (text) =>
    responsesTurn({ type: 'message', role: 'assistant', content: [{ type: 'output_text', text, annotations: [] }] }, [
      { type: 'response.output_text.delta', output_index: 0, content_index: 0, delta: text },
    ]),
};

function responsesTurn(made: Json, deltas: readonly Json[] = []): Json[] {
  const item = { id: newId(), status: 'completed', ...made };
  const response = { id: newId(), object: 'response', model: 'scripted', usage: USAGE };
  return [
    { type: 'response.created', response: { ...response, status: 'in_progress', output: [] } },
    { type: 'response.output_item.added', output_index: 0, item },
    ...deltas.map((delta) => ({ item_id: item.id, ...delta })),
    { type: 'response.output_item.done', output_index: 0, item },
    { type: 'response.completed', response: { ...response, status: 'completed', output: [item] } },
  ];
}

const chat: Api = {
  path: /\/chat\/completions$/,
  offers: ({ tools }) =>
    list(tools).map((tool) => {
      const { name, parameters } = tool['function'] as Json;
      return { name: String(name), schema: parameters };
    }),
  results: ({ messages }) =>
    list(messages)
      .filter(({ role }) => role === 'tool')
      .map(({ content }) => content),
  call: ({ name }, args) =>
    chatTurn('tool_calls', {
      tool_calls: [{ index: 0, id: newId(), type: 'function', function: { name, arguments: JSON.stringify(args) } }],
    }),
  say: (content) => chatTurn('stop', { content }),
};

const chatTurn = (finish_reason: string, delta: Json): Json[] =>
  [
    { delta: { role: 'assistant', ...delta }, finish_reason: null },
    { delta: {}, finish_reason },
  ].map((choice) => ({ id: newId(), object: 'chat.completion.chunk', model: 'scripted', choices: [{ index: 0, ...choice }] }));

const gemini: Api = {
  path: /:streamGenerateContent$/,
  offers: ({ tools }) =>
    list(tools)
      .flatMap(({ functionDeclarations }) => list(functionDeclarations))
      .map(({ name, parametersJsonSchema, parameters }) => ({ name: String(name), schema: parametersJsonSchema ?? parameters })),
  results: ({ contents }) =>
    list(contents)
      .flatMap(({ parts }) => list(parts))
      .flatMap(({ functionResponse }) => (functionResponse === undefined ? [] : [functionResponse])),
  call: ({ name }, args) => geminiTurn({ functionCall: { name, args } }),
  say: (text) => geminiTurn({ text }),
};

const geminiTurn = (part: Json): Json[] => [
  {
    candidates: [{ index: 0, content: { role: 'model', parts: [part] }, finishReason: 'STOP' }],
    usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
  },
];

export const APIS: readonly Api[] = [anthropic, responses, chat, gemini];
