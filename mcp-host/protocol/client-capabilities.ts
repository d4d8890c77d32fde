import { isMembers, META, type Members } from './messages.ts';

/** The capabilities that a request of the stateless revision declares. */
export const declaredIn = (params: Members): unknown => {
  const meta = params['_meta'];
  return isMembers(meta) ? meta[META.capabilities] : undefined;
};

/** MCP Apps (extension of 2026-01-26). */
export const APPS = 'io.modelcontextprotocol/ui';

export const APP_MIME_TYPE = 'text/html;profile=mcp-app';

/** Whether a client declares that it draws MCP Apps. */
export function drawsViews(capabilities: unknown): boolean {
  const extensions = isMembers(capabilities) ? capabilities['extensions'] : undefined;
  const apps = isMembers(extensions) ? extensions[APPS] : undefined;
  const types = isMembers(apps) ? apps['mimeTypes'] : undefined;
  return Array.isArray(types) && types.includes(APP_MIME_TYPE);
}

/** Whether a client shows forms: it declares `{}`, or names the mode `form`. */
export function showsForms(capabilities: unknown): boolean {
  const elicitation = isMembers(capabilities) ? capabilities['elicitation'] : undefined;
  if (!isMembers(elicitation)) return false;
  return elicitation['form'] !== undefined || elicitation['url'] === undefined;
}

/** Whether a client that shows no forms leads people to a page instead (URL mode). */
export function opensPages(capabilities: unknown): boolean {
  const elicitation = isMembers(capabilities) ? capabilities['elicitation'] : undefined;
  return isMembers(elicitation) && elicitation['url'] !== undefined && !showsForms(capabilities);
}
