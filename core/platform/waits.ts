/** How long the server waits for others, in ms. */
export interface Waits {
  /** A deploy for the answers of the hosts (contract section 9), and for each to open a new address or to load a snapshot beside. */
  readonly hosts_ms: number;
  /** A request to an identity provider, until its answer was read. */
  readonly provider_ms: number;
  /** The metadata document of an OAuth client. */
  readonly client_document_ms: number;
  /** The test of a connection. */
  readonly connection_test_ms: number;
}

export const WAITS: Waits = { hosts_ms: 5_000, provider_ms: 5_000, client_document_ms: 5_000, connection_test_ms: 10_000 };
