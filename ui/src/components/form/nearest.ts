/** The first that hold what was typed, those that begin with it before the others: a browser takes a minute to draw 10,000. */
export function nearest<T>(all: readonly T[], textOf: (one: T) => string, typed: string, most: number): T[] {
  const wanted = typed.trim().toLowerCase();
  const placeIn = (one: T): number => textOf(one).toLowerCase().indexOf(wanted);
  return [...all.filter((one) => placeIn(one) === 0), ...all.filter((one) => placeIn(one) > 0)].slice(0, most);
}
