/** The company that hosts the zone of a domain. */
export interface DnsProvider {
  /** Adds a TXT record beside those of the same name. Returns how to remove it, and when the provider's name servers have it. */
  add(name: string, value: string): Promise<AddedRecord>;
}

export interface AddedRecord {
  readonly zone: string;
  /** @param signal of the clean-up, which outlives an order that was aborted. */
  remove(signal: AbortSignal): Promise<void>;
}

/** Names that may be the zone of a record, the longest first; never a top-level domain. */
export function zoneCandidates(record: string): string[] {
  const labels = record.split('.');
  return labels.slice(0, -1).map((_, index) => labels.slice(index).join('.'));
}
