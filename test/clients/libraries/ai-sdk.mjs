import { createMCPClient } from '@ai-sdk/mcp';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { isStepCount, streamText } from 'ai';

const [url, headers, model_url, prompt] = process.argv.slice(2);
const client = await createMCPClient({ transport: { type: 'http', url, headers: JSON.parse(headers) } });
const model = createOpenAICompatible({ name: 'scripted', baseURL: model_url })('scripted');
const answer = streamText({ model, prompt, tools: await client.tools(), stopWhen: isStepCount(5) });
console.log(await answer.text);
await client.close();
