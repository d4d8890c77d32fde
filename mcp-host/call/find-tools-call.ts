import { beginning } from '#core/lib/text/shorten.ts';
import { wellFormedJson } from '#core/lib/text/wire-text.ts';
import { holderOf } from '#mcp-host/auth/caller.ts';
import type { Members } from '#mcp-host/protocol/messages.ts';
import { findTools } from '#mcp-host/registry/find-tools.ts';
import { MOST_FOUND } from '#snapshots/format/find-tools-item.ts';
import { toolItem } from '#mcp-host/registry/tool-item.ts';
import type { CallContext } from './context.ts';
import type { CallServices } from './services.ts';

const LONGEST_QUESTION = 1_000;

/** The members of the result of `find_tools`: tools of the caller's view, so that hidden ones are not found. */
export async function callFindTools(
  { question, limit = MOST_FOUND }: Members,
  { registry, caller, record }: CallContext,
  services: CallServices,
): Promise<string> {
  const turn = services.limits.takeCaller(() => holderOf(caller, record.exchange.address));
  if (turn !== undefined) await turn;
  if (typeof question !== 'string' || question.trim() === '')
    return failed('question must be a sentence that says what is needed.');
  if (typeof limit !== 'number' || !Number.isInteger(limit) || limit < 1 || limit > MOST_FOUND) {
    return failed(`limit must be a whole number from 1 to ${MOST_FOUND}.`);
  }
  const tools = findTools(registry.tools, beginning(question, LONGEST_QUESTION), limit).map(({ entry, score }) => {
    const { name, title, description, inputSchema } = toolItem(entry.entity, null);
    return { name, ...(title === undefined ? {} : { title }), description, inputSchema, score };
  });
  const json = wellFormedJson(JSON.stringify({ tools }));
  return `"content":[${textBlock(json)}],"structuredContent":${json}`;
}

const failed = (sentence: string): string => `"content":[${textBlock(sentence)}],"isError":true`;
const textBlock = (text: string): string => JSON.stringify({ type: 'text', text });
