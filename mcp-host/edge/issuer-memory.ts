import { DOCUMENT_LIMIT } from '#core/edge/issuer-keys.ts';
import { boundedText } from '#core/engines/shared/bounded-text.ts';
import type { Ask } from '#mcp-host/auth/introspection.ts';
import type { ListFile } from '#mcp-host/auth/list-file.ts';
import type { ForeignKeySets } from '#mcp-host/auth/signed/foreign-keys.ts';

/** An isolate's memory of issuer keys, for hosts that live as long as one request. */
export interface IssuerMemory {
  /** Keys that were read before. They stay valid while the issuer cannot be reached. */
  readonly keys: ListFile<ForeignKeySets>;
  /** Caches the documents of issuers for a while, so that requests do not fetch them again. */
  remembering(ask: Ask): Ask;
}

/** The time after which a host reads an issuer's keys again. */
const REMEMBERED_MS = 30_000;

export function createIssuerMemory(now: () => number): IssuerMemory {
  let keys: ForeignKeySets | null = null;
  const documents = new Map<string, { readonly text: string; readonly until: number }>();
  return {
    keys: {
      read: () => Promise.resolve(keys),
      write(list) {
        keys = list;
        return Promise.resolve();
      },
    },
    remembering: (ask) => async (url, init) => {
      const known = documents.get(url);
      if (known !== undefined && known.until > now()) return new Response(known.text);
      const response = await ask(url, init);
      if (response.status !== 200) return response;
      const text = await boundedText(response, DOCUMENT_LIMIT);
      documents.set(url, { text, until: now() + REMEMBERED_MS });
      return new Response(text);
    },
  };
}
