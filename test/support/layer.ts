/** The full layer tries every combination, the daily layer each value once. The runner says which one runs. */
export const is_full_layer = process.env['TEST_LAYER'] === 'full';
