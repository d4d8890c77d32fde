import type { Upgrade } from './sockets.ts';

export type ServerEnv = {
  Bindings: {
    readonly address: string | null;
    /** The request came through the TLS terminator. */
    readonly secure?: boolean;
    readonly upgrade?: Upgrade;
    /** Called when the whole request was read; suspends the idle timeout. */
    readonly received?: () => void;
  };
  Variables: { request_id: string };
};

/** Whether this server speaks HTTPS, and for which names. */
export interface HttpsState {
  /** Null: there is no certificate. */
  serving(): { readonly domains: readonly string[] } | null;
}

export const NO_HTTPS: HttpsState = { serving: () => null };
