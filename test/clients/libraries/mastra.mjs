import { Agent } from '@mastra/core/agent';
import { MCPClient } from '@mastra/mcp';

const [url, headers, model_url, prompt] = process.argv.slice(2);
const client = new MCPClient({ servers: { shop: { url: new URL(url), requestInit: { headers: JSON.parse(headers) } } } });
const tools = await client.listTools();
const model = { id: 'scripted/scripted', url: model_url, apiKey: 'none' };
const agent = new Agent({ id: 'seller', name: 'Seller', instructions: 'Sell.', model, tools });
const answer = await agent.stream(prompt);
console.log(await answer.text);
await client.disconnect();
