import type { Connection } from 'mysql2';

/** Bytes of answers to our own statements, and of descriptions of others. */
export const OWN_BYTES = 8 * 1024 * 1024;
/** Of the greeting and all else before the login is done. */
export const LOGIN_BYTES = 64 * 1024;

export interface PacketMeter {
  /** From now on so many bytes may come, `one` in one packet. What is more reaches nobody, and `exceeded` is called, once. */
  allow(total: number, one: number, exceeded: () => void): void;
}

const HEADER = 4;
/** A packet of this length is continued by the next one. */
const CONTINUED = 0xff_ff_ff;

/** Counts packets before the driver sees them: it would keep a whole one, however long it claims to be. */
export function meterPackets(connection: Connection): PacketMeter {
  const driver = connection as unknown as { packetParser: { execute(chunk: Buffer): void } };
  const parser = driver.packetParser;
  let left = LOGIN_BYTES;
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
      left -= length + HEADER;
      if (left < 0 || packet > largest) {
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
    allow(total, one, told) {
      left = total;
      largest = one;
      exceeded = told;
    },
  };
}
