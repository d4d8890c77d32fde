import { MultiServerMCPClient } from '@langchain/mcp-adapters';
import { ChatOpenAI } from '@langchain/openai';
import { createAgent } from 'langchain';

const [url, headers, model_url, prompt] = process.argv.slice(2);
const client = new MultiServerMCPClient({ mcpServers: { shop: { transport: 'http', url, headers: JSON.parse(headers) } } });
const model = new ChatOpenAI({
  model: 'scripted',
  apiKey: 'none',
  streaming: true,
  useResponsesApi: true,
  configuration: { baseURL: model_url },
});
const agent = createAgent({ model, tools: await client.getTools() });
const { messages } = await agent.invoke({ messages: [{ role: 'user', content: prompt }] });
console.log(messages.at(-1).content);
await client.close();
