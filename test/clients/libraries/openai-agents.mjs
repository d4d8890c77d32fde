import { Agent, MCPServerStreamableHttp, OpenAIProvider, Runner } from '@openai/agents';

const [url, headers, model_url, prompt] = process.argv.slice(2);
const server = new MCPServerStreamableHttp({ name: 'shop', url, requestInit: { headers: JSON.parse(headers) } });
await server.connect();
const modelProvider = new OpenAIProvider({ apiKey: 'none', baseURL: model_url });
const agent = new Agent({ name: 'Seller', model: 'scripted', mcpServers: [server] });
const answer = await new Runner({ modelProvider, tracingDisabled: true }).run(agent, prompt, { stream: true });
await answer.completed;
console.log(answer.finalOutput);
await server.close();
