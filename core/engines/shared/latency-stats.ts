/** How quick the statements of a connection are, by their text. */
export interface Paces {
  /** @param ms from the moment when a session began with it. @param rows of its answer. */
  note(text: string, ms: number, rows: number): void;
  /** Quick often enough that others may wait behind it on the same session. */
  isQuick(text: string): boolean;
}

interface Pace {
  /** Mean in which later runs weigh more. */
  ms: number;
  runs: number;
}

const TEXTS = 10_000;
/** The first run plans, and reads what is not in the memory yet. */
const RUNS = 3;
const QUICK_MS = 5;
/** Larger answers keep those behind them waiting with their bytes alone. */
const QUICK_ROWS = 500;
const NEWEST = 0.25;
/** No run weighs more: about twenty quick ones later it is forgotten. */
const MOST_MS = 1_000;

export function createPaces(): Paces {
  const paces = new Map<string, Pace>();
  return {
    note(text, took_ms, rows) {
      const ms = rows > QUICK_ROWS ? MOST_MS : Math.min(took_ms, MOST_MS);
      const pace = paces.get(text);
      if (pace !== undefined) {
        pace.runs++;
        pace.ms += (ms - pace.ms) * NEWEST;
      } else if (paces.size < TEXTS) paces.set(text, { ms, runs: 1 });
    },
    isQuick(text) {
      const pace = paces.get(text);
      return pace !== undefined && pace.runs >= RUNS && pace.ms <= QUICK_MS;
    },
  };
}
