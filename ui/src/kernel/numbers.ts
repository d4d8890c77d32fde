/** Numbers with the separators of the reader's language. */
const WHOLE = new Intl.NumberFormat();
const TENTHS = new Intl.NumberFormat(undefined, { minimumFractionDigits: 1, maximumFractionDigits: 1 });
const PERCENT = new Intl.NumberFormat(undefined, { style: 'percent' });
const PERCENT_TENTHS = new Intl.NumberFormat(undefined, { style: 'percent', maximumFractionDigits: 1 });
const SHORT = new Intl.NumberFormat(undefined, { notation: 'compact', maximumFractionDigits: 1 });

/** `12,345`. */
export const num = (value: number): string => WHOLE.format(value);
/** `12.3`, `4.0`. */
export const tenths = (value: number): string => TENTHS.format(value);
/** `9,999`, `12.3K`, `3.4M`. */
export const count = (value: number): string => (value < 10_000 ? num(value) : SHORT.format(value));
/** A part of one as `12%`, `5%`, `1.2%`; `<0.1%` for what would look like nothing. */
export const percent = (part: number): string => {
  if (part > 0 && part < 0.001) return `<${PERCENT_TENTHS.format(0.001)}`;
  return (part === 0 || part >= 0.1 ? PERCENT : PERCENT_TENTHS).format(part);
};
