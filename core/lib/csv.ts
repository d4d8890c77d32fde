const SPECIAL = /[",\r\n]/;

/** One field of RFC 4180: an empty text is quoted, because an empty field is a missing value. */
export const csvField = (text: string, special = SPECIAL): string =>
  text === '' || special.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
