import { bindMessage, executeSome, parseMessage, TEXT, unnamed } from './messages.ts';

/** Settings that a statement has of its caller: set in its own transaction, so they end with it. */

/** Parsed once a session. */
const NAME = 'settings';
const EXECUTE = executeSome(0);

/** `concat` is never null, so the values are set and no row comes back. */
export const SETTINGS_TAG = 'SELECT 0';
export const settingsText = (names: readonly string[]): string => {
  const calls = names.map((name, n) => `pg_catalog.set_config('${name}', $${n + 1}, true)`);
  return `select where pg_catalog.concat(${calls.join(', ')}) is null`;
};

/** @param names of settings, as our own checks let them through: they are no values. */
export const keepSettings = (names: readonly string[]): Buffer =>
  parseMessage(
    NAME,
    settingsText(names),
    names.map(() => TEXT),
  );

/** Bind and Execute of the settings, for the write and the group of the statement that they are for. */
export const sendSettings = (values: readonly string[]): Buffer => Buffer.concat([bindMessage(NAME, values), EXECUTE]);

/** The same by themselves, for a transaction that several messages share. */
export const settingsAlone = (names: readonly string[], values: readonly string[]): Buffer =>
  unnamed(settingsText(names), values);
