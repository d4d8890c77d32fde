/** Measured latencies of a connection's statements, by their text. */
export interface LatencyStats {
  /** @param ms since a session began to run the statement. @param rows in the result. */
  note(text: string, ms: number, rows: number): void;
  /** True when enough runs were fast that other statements can wait behind it on the same session. */
  isFast(text: string): boolean;
  noteFailure(text: string): void;
  /** True when none of the last `STEADY_RUNS` runs failed. */
  isSteady(text: string): boolean;
}

interface Latency {
  /** Moving average that weights recent runs more. */
  ms: number;
  runs: number;
  /** Remaining runs until it counts as steady. */
  unsteady: number;
}

const MAX_TEXTS = 10_000;
/** The first run also plans the statement and reads uncached pages. */
const MIN_RUNS = 3;
const FAST_MS = 5;
/** The bytes of a larger result alone delay the statements behind it. */
const FAST_ROWS = 500;
const NEWEST_WEIGHT = 0.25;
/** Caps the weight of one slow run: about twenty fast runs outweigh it. */
const MAX_MS = 1_000;
const STEADY_RUNS = 200;

export function createLatencyStats(): LatencyStats {
  const latencies = new Map<string, Latency>();
  return {
    note(text, took_ms, rows) {
      const ms = rows > FAST_ROWS ? MAX_MS : Math.min(took_ms, MAX_MS);
      const latency = latencies.get(text);
      if (latency !== undefined) {
        latency.runs++;
        if (latency.unsteady > 0) latency.unsteady--;
        latency.ms += (ms - latency.ms) * NEWEST_WEIGHT;
      } else if (latencies.size < MAX_TEXTS) latencies.set(text, { ms, runs: 1, unsteady: 0 });
    },
    isFast(text) {
      const latency = latencies.get(text);
      return latency !== undefined && latency.runs >= MIN_RUNS && latency.ms <= FAST_MS;
    },
    noteFailure(text) {
      const latency = latencies.get(text);
      if (latency !== undefined) latency.unsteady = STEADY_RUNS;
    },
    isSteady: (text) => latencies.get(text)?.unsteady === 0,
  };
}
