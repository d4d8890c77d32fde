/** How many rounds: a few in a plain run, `FAULT_ROUNDS` of them on demand. */
export const rounds = (few: number): number => Number(process.env['FAULT_ROUNDS'] ?? few);
