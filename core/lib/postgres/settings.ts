import { bindMessage, executeSome, parseMessage, TEXT, unnamed } from './messages.ts';

/** Settings that a statement has from its caller. They are set in its transaction, so they end with it. */

/** Prepared once per session. */
const NAME = 'settings';
const EXECUTE = executeSome(0);

/** `concat` is never null, so the values are set and no row is returned. */
export const SETTINGS_TAG = 'SELECT 0';
const settingsText = (names: readonly string[]): string => {
  const calls = names.map((name, n) => `pg_catalog.set_config('${name}', $${n + 1}, true)`);
  return `select where pg_catalog.concat(${calls.join(', ')}) is null`;
};

/** @param names validated names of settings, which are written into the text. */
export const keepSettings = (names: readonly string[]): Buffer =>
  parseMessage(
    NAME,
    settingsText(names),
    names.map(() => TEXT),
  );

/** Bind and Execute of the settings, for the same write and group as their statement. */
export const sendSettings = (values: readonly string[]): Buffer => Buffer.concat([bindMessage(NAME, values), EXECUTE]);

/** The settings in a separate message, for a transaction with several messages. */
export const settingsAlone = (names: readonly string[], values: readonly string[]): Buffer =>
  unnamed(settingsText(names), values);
