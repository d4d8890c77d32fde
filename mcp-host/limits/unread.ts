import { networkOf } from '#core/edge/client-address.ts';
import type { Sending } from '#mcp-host/runtime/sending.ts';

const MIB = 1024 * 1024;
/** Most unread bytes of one address, and of all addresses together. */
const EACH = 64 * MIB;
const ALL = 256 * MIB;

/**
 * Tracks large answers that are not read yet. Beyond a limit it drops the oldest one, of the address itself or of the address
 * with the most unread bytes.
 */
export interface Unread {
  add(address: string, sending: Sending): void;
}

interface Reader {
  bytes: number;
  readonly sendings: Set<Sending>;
}

export function createUnread(each = EACH, all = ALL): Unread {
  const readers = new Map<string, Reader>();
  let total = 0;

  function remove(network: string, reader: Reader, sending: Sending): void {
    if (!reader.sendings.delete(sending)) return;
    reader.bytes -= sending.bytes;
    total -= sending.bytes;
    if (reader.sendings.size === 0) readers.delete(network);
  }
  function dropOldest(network: string, reader: Reader): void {
    // A response without pending bytes uses no memory.
    const oldest = [...reader.sendings].find(({ bytes }) => bytes > 0);
    if (oldest === undefined) return;
    remove(network, reader, oldest);
    oldest.drop();
  }
  const isOver = (): boolean => total > all && readers.size > 1;
  function dropOfLargest(): void {
    const [first] = [...readers].sort(([, a], [, b]) => b.bytes - a.bytes);
    if (first !== undefined) dropOldest(...first);
  }

  function count(network: string, reader: Reader, bytes: number): void {
    reader.bytes += bytes;
    total += bytes;
    while (reader.bytes > each && reader.sendings.size > 1) dropOldest(network, reader);
    while (isOver()) dropOfLargest();
  }

  return {
    add(address, sending) {
      const network = networkOf(address);
      const reader = readers.get(network) ?? { bytes: 0, sendings: new Set() };
      readers.set(network, reader);
      reader.sendings.add(sending);
      sending.onGrow((bytes) => {
        if (reader.sendings.has(sending)) count(network, reader, bytes);
      });
      sending.onEnd(() => remove(network, reader, sending));
      if (reader.sendings.has(sending)) count(network, reader, sending.bytes);
    },
  };
}
