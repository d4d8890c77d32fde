import type { LiveToken } from '#core/contract/deploy/control.ts';
import { isMembers } from '#mcp-host/protocol/messages.ts';
import { type ListFile, listFile } from './list-file.ts';

/** The access tokens as the server last sent them. */
export interface TokenList {
  /** When the server sent them. */
  readonly as_of: string;
  readonly tokens: readonly LiveToken[];
}

/** The host's copy of the list, beside its snapshot: digests and sealed hashes. */
export type TokenFile = ListFile<TokenList>;

export const tokenFile = (path: string): TokenFile => listFile(path, isTokenList, 'a list of access tokens');

const isTokenList = (value: unknown): value is TokenList =>
  isMembers(value) && typeof value['as_of'] === 'string' && Array.isArray(value['tokens']);
