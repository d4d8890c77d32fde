import type { RequestRecord } from '#mcp-host/requests/request-record.ts';
import type { FileOffer } from './file-links.ts';

/** The first revision with links to resources in a result. */
const LINKS_SINCE = '2025-06-18';

const MIME_TYPES: Readonly<Record<FileOffer['format'], string>> = {
  csv: 'text/csv',
  jsonl: 'application/jsonl',
  parquet: 'application/vnd.apache.parquet',
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
};

/** The blocks that lead to a file. Many clients show only one of them, or only the structured content. */
export function fileBlocks({ url, format, name, expires_at, resource }: FileOffer, record: RequestRecord): string[] {
  const pages = resource === null ? '' : `\nWithout a browser, read them in pages as the resource ${resource}`;
  const text = `All rows as a file (${format}), which a person can download until ${expires_at}: ${url}${pages}`;
  const blocks = [JSON.stringify({ type: 'text', text })];
  if (!hasLinks(record)) return blocks;
  const link = { type: 'resource_link', uri: url, name, mimeType: MIME_TYPES[format], annotations: { audience: ['user'] } };
  return [...blocks, JSON.stringify(link)];
}

/** @param rows null: not known. */
export const fileMember = ({ url, format, expires_at, resource }: FileOffer, rows: number | null): string =>
  JSON.stringify({ url, format, expires_at, ...(resource !== null && { resource }), ...(rows !== null && { rows }) });

const hasLinks = ({ protocol, session }: RequestRecord): boolean =>
  protocol.modern || (session?.version ?? protocol.version ?? '') >= LINKS_SINCE;
