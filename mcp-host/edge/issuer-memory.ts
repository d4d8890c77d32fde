import { DOCUMENT_LIMIT } from '#core/edge/issuer-keys.ts';
import { boundedText } from '#core/engines/shared/bounded-text.ts';
import type { Ask } from '#mcp-host/auth/introspection.ts';
import type { ListFile } from '#mcp-host/auth/list-file.ts';
import type { ForeignKeySets } from '#mcp-host/auth/signed/foreign-keys.ts';

/** What an isolate knows of the keys of issuers, for hosts that live as long as one request. */
export interface IssuerMemory {
  /** Keys that were read once: an issuer that is down changes nothing. */
  readonly keys: ListFile<ForeignKeySets>;
  /** The same question, answered from memory for a while: no request asks what another has just asked. */
  remembering(ask: Ask): Ask;
}

/** As long as a host waits before it asks an issuer again. */
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
