import * as fc from 'fast-check';

/**
 * The seed of everything random: in CI always the same, so that the same code gets the same answer; elsewhere another one each
 * run, which a failure prints. `TEST_SEED` repeats a run.
 */
export const seed = Number(
  process.env['TEST_SEED'] ?? (process.env['CI'] === undefined ? Math.floor(Math.random() * 2 ** 31) : 1),
);

fc.configureGlobal({ seed });

export { fc };
