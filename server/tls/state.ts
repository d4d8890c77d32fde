/** Whether this server speaks HTTPS, and for which names. */
export interface HttpsState {
  /** Null: there is no certificate to speak it with. */
  serving(): { readonly domains: readonly string[] } | null;
}

export const NO_HTTPS: HttpsState = { serving: () => null };
