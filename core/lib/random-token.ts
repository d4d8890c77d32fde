import { createHash, randomInt } from 'node:crypto';

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
const RANDOM = 40;
/** Characters of the random part that are shown, so that people can distinguish tokens. */
const SHOWN = 4;

/** A prefix and 40 random characters. */
export const randomToken = (prefix: string): string =>
  prefix + Array.from({ length: RANDOM }, () => ALPHABET[randomInt(ALPHABET.length)]).join('');

/** A token of 40 random characters is stored as its SHA-256, which cannot be reversed. */
export const digestOf = (token: string): string => createHash('sha256').update(token).digest('hex');

export const shownPrefix = (token: string): string => token.slice(0, token.length - RANDOM + SHOWN);
