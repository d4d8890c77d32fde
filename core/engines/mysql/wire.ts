import type { Connection } from 'mysql2';

/** Bytes of answers to internal statements, and of descriptions of other statements. */
export const INTERNAL_BYTES = 8 * 1024 * 1024;
/** Bytes before the login is done, including the greeting. */
export const LOGIN_BYTES = 64 * 1024;

export interface PacketMeter {
  /** Resets the limits: `total` bytes, and `one` per packet. Bytes beyond them are dropped, and `exceeded` is called once. */
  allow(total: number, one: number, exceeded: () => void): void;
}

const HEADER = 4;
/** A packet with this length continues in the next one. */
const CONTINUED = 0xff_ff_ff;

/** Counts packets before the driver sees them: the driver would buffer a whole packet, whatever length it claims. */
export function meterPackets(connection: Connection): PacketMeter {
  const driver = connection as Connection & { packetParser: { execute(chunk: Buffer): void } };
  const parser = driver.packetParser;
  let remaining = LOGIN_BYTES;
  let largest = LOGIN_BYTES;
  let exceeded = () => {};
  let length = 0;
  let in_header = 0;
  let in_body = 0;
  let packet = 0;
  let stopped = false;

  function execute(chunk: Buffer): void {
    if (stopped) return;
    let begin = 0;
    for (let at = 0; at < chunk.length;) {
      if (in_body > 0) {
        const step = Math.min(in_body, chunk.length - at);
        in_body -= step;
        at += step;
        continue;
      }
      if (in_header === 0) begin = at;
      if (in_header < 3) length |= chunk[at]! << (8 * in_header);
      in_header++;
      at++;
      if (in_header < HEADER) continue;
      packet += length;
      remaining -= length + HEADER;
      if (remaining < 0 || packet > largest) {
        stopped = true;
        if (begin > 0) parser.execute(chunk.subarray(0, begin));
        exceeded();
        return;
      }
      in_body = length;
      if (length < CONTINUED) packet = 0;
      in_header = 0;
      length = 0;
    }
    parser.execute(chunk);
  }

  driver.packetParser = { execute };
  return {
    allow(total, one, onExceeded) {
      remaining = total;
      largest = one;
      exceeded = onExceeded;
    },
  };
}
