import { IGNORED_META, ignoredText } from '#core/lib/text/undeclared-arguments.ts';
import type { RequestRecord } from '#mcp-host/requests/request-record.ts';

type Ignored = Pick<RequestRecord, 'ignored'>;

/** Between the content of a result and its structured content: quotes within a text are escaped, so it stands nowhere else. */
const END_OF_CONTENT = '],"structuredContent":';

/** The members of a result with the ignored arguments as the last line of its text. The result may be one that other calls share. */
export function withIgnored(members: string, { ignored }: Ignored): string {
  if (ignored.length === 0) return members;
  const found = members.indexOf(END_OF_CONTENT);
  const end = found === -1 ? members.length - 1 : found;
  return `${members.slice(0, end)},${ignoredBlock(ignored)}${members.slice(end)}`;
}

/** The content of a failed call, which says so too. */
export const failedContent = (block: string, { ignored }: Ignored): string =>
  ignored.length === 0 ? block : `${block},${ignoredBlock(ignored)}`;

/** The members of `_meta` of a result, as text. @param others those that it has anyway. */
export function ignoredMeta(others: string, { ignored }: Ignored): string {
  if (ignored.length === 0) return others;
  return `${others === '' ? '' : `${others},`}"${IGNORED_META}":${JSON.stringify(ignored)}`;
}

const ignoredBlock = (ignored: readonly string[]): string => JSON.stringify({ type: 'text', text: ignoredText(ignored) });
