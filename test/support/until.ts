/** Long enough for a machine that does much else; what a test waits for never takes as long. */
const LIMIT_MS = 30_000;
const SHORTEST_MS = 5;
const LONGEST_MS = 100;

type Condition<T> = () => T | undefined | null | false | Promise<T | undefined | null | false>;

/**
 * Repeats a condition until it holds, and returns its value; one that throws does not hold yet. Throws after 30 s, with what `context`
 * says.
 */
export const until = <T>(condition: Condition<T>, context?: () => string): Promise<T> =>
  untilWithin(LIMIT_MS, condition, context);

/** For what takes longer, such as installing a package. */
export async function untilWithin<T>(limit_ms: number, condition: Condition<T>, context: () => string = () => ''): Promise<T> {
  const ends = performance.now() + limit_ms;
  let fault: unknown;
  for (let pause_ms = SHORTEST_MS; ; pause_ms = Math.min(LONGEST_MS, pause_ms * 1.5)) {
    try {
      const value = await condition();
      if (value) return value;
      fault = undefined;
    } catch (error) {
      fault = error;
    }
    if (performance.now() > ends) {
      const told = [`This did not become true within ${limit_ms / 1000} s.`, context()].filter(Boolean).join(' ');
      throw new Error(told, { cause: fault });
    }
    await Bun.sleep(pause_ms);
  }
}
