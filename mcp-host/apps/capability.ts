import { declaredIn } from '#mcp-host/call/confirmation/elicitation.ts';
import type { RequestRecord } from '#mcp-host/call/request-record.ts';
import { isMembers } from '#mcp-host/protocol/messages.ts';

/** MCP Apps (extension of 2026-01-26). */
export const APPS = 'io.modelcontextprotocol/ui';
export const APP_MIME_TYPE = 'text/html;profile=mcp-app';

/** Whether a client declares that it draws such pages. */
export function drawsViews(capabilities: unknown): boolean {
  const extensions = isMembers(capabilities) ? capabilities['extensions'] : undefined;
  const apps = isMembers(extensions) ? extensions[APPS] : undefined;
  const types = isMembers(apps) ? apps['mimeTypes'] : undefined;
  return Array.isArray(types) && types.includes(APP_MIME_TYPE);
}

/** Every request of the stateless revision says it; a session said it when it was opened. */
export const isForViews = ({ protocol, message, session }: RequestRecord): boolean =>
  protocol.modern ? drawsViews(declaredIn(message.params)) : session?.draws_views === true;
