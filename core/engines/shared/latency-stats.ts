/** How long the statements of a connection take, by their text. */
export interface LatencyStats {
  /** @param ms from the moment when a session began with it. @param rows of its answer. */
  note(text: string, ms: number, rows: number): void;
  /** Measured as fast often enough that others can wait behind it on the same session. */
  isFast(text: string): boolean;
  noteFailure(text: string): void;
  /** None of its last runs failed. */
  isSteady(text: string): boolean;
}

interface Latency {
  /** Mean in which later runs weigh more. */
  ms: number;
  runs: number;
  /** Runs until it counts as steady. */
  unsteady: number;
}

const TEXTS = 10_000;
/** The first run plans, and reads what is not in the memory yet. */
const RUNS = 3;
const FAST_MS = 5;
/** Larger answers keep those behind them waiting with their bytes alone. */
const FAST_ROWS = 500;
const NEWEST = 0.25;
/** No run weighs more: about twenty fast ones later it is forgotten. */
const MOST_MS = 1_000;
const STEADY_RUNS = 200;

export function createLatencyStats(): LatencyStats {
  const latencies = new Map<string, Latency>();
  return {
    note(text, took_ms, rows) {
      const ms = rows > FAST_ROWS ? MOST_MS : Math.min(took_ms, MOST_MS);
      const latency = latencies.get(text);
      if (latency !== undefined) {
        latency.runs++;
        if (latency.unsteady > 0) latency.unsteady--;
        latency.ms += (ms - latency.ms) * NEWEST;
      } else if (latencies.size < TEXTS) latencies.set(text, { ms, runs: 1, unsteady: 0 });
    },
    isFast(text) {
      const latency = latencies.get(text);
      return latency !== undefined && latency.runs >= RUNS && latency.ms <= FAST_MS;
    },
    noteFailure(text) {
      const latency = latencies.get(text);
      if (latency !== undefined) latency.unsteady = STEADY_RUNS;
    },
    isSteady: (text) => latencies.get(text)?.unsteady === 0,
  };
}
