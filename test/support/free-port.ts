/** Below the ports that Linux gives to outgoing connections, one of which could take it before the program that is told it. */
const PORTS = { least: 10_000, most: 32_000 };

/** Files that run at the same time have ports of their own, so that none takes what another one was just told. */
const LANES = 8;
const lane = Number(process.env['TEST_LANE'] ?? LANES - 1);

const COUNT = Math.floor((PORTS.most - PORTS.least) / LANES);
let next = Math.floor(Math.random() * COUNT);

/** A port that was free a moment ago, and that this process was not told before. */
export function freePort(): number {
  for (let attempt = 0; attempt < 100; attempt++) {
    const port = PORTS.least + LANES * (next++ % COUNT) + lane;
    try {
      void Bun.serve({ port, hostname: '0.0.0.0', reusePort: false, fetch: () => new Response() }).stop(true);
      return port;
    } catch {
      // Another program has it.
    }
  }
  throw new Error('No port is free.');
}
