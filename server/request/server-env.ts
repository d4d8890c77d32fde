import type { Upgrade } from './sockets.ts';

export type ServerEnv = {
  Bindings: {
    readonly address: string | null;
    /** It came over our own TLS. */
    readonly secure?: boolean;
    readonly upgrade?: Upgrade;
    /** Called once the whole request was read: from then on the caller may wait in silence. */
    readonly received?: () => void;
  };
  Variables: { request_id: string };
};

/** Whether this server speaks HTTPS, and for which names. */
export interface HttpsState {
  /** Null: there is no certificate to speak it with. */
  serving(): { readonly domains: readonly string[] } | null;
}

export const NO_HTTPS: HttpsState = { serving: () => null };
