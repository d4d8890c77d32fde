import { isMembers, META, type Members } from '#mcp-host/protocol/messages.ts';

/** Whether a client shows forms: `{}` means so, and a client that names modes names `form` among them. */
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

/** The capabilities that a request of the stateless revision declares. */
export const declaredIn = (params: Members): unknown => {
  const meta = params['_meta'];
  return isMembers(meta) ? meta[META.capabilities] : undefined;
};
