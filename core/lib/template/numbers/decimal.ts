/** An exact decimal number: `units / 10 ** scale`. */
export interface Decimal {
  readonly units: bigint;
  readonly scale: number;
}

const MAX_LENGTH = 400;
const PATTERN = /^\s*([+-]?)(?:(\d+)(?:\.(\d*))?|\.(\d+))(?:[eE]([+-]?\d{1,3}))?\s*$/;

/** Whether a text is a number in the form in which databases send decimals and large integers. */
export const isNumberText = (text: string): boolean => text.length <= MAX_LENGTH && PATTERN.test(text);

/** Reads a number, also from text. Null for anything else. */
export function toDecimal(value: unknown): Decimal | null {
  if (typeof value === 'number' ? !Number.isFinite(value) : typeof value !== 'string') return null;
  const text = String(value);
  if (text.length > MAX_LENGTH) return null;
  const match = PATTERN.exec(text);
  if (match === null) return null;
  const [, sign, whole = '', after_whole, alone, exponent = '0'] = match;
  const fraction = after_whole ?? alone ?? '';
  const units = BigInt(`${sign === '-' ? '-' : ''}${whole}${fraction}`);
  const scale = fraction.length - Number(exponent);
  return scale >= 0 ? { units, scale } : { units: units * 10n ** BigInt(-scale), scale: 0 };
}

export function addDecimals(a: Decimal, b: Decimal): Decimal {
  const scale = Math.max(a.scale, b.scale);
  return { units: scaled(a, scale) + scaled(b, scale), scale };
}

const scaled = ({ units, scale }: Decimal, new_scale: number): bigint => units * 10n ** BigInt(new_scale - scale);

export const ROUNDINGS = ['common', 'ceil', 'floor'] as const;
export type Rounding = (typeof ROUNDINGS)[number];

/** Rounds to `places` decimal places (negative: before the point). `common` rounds halves away from zero, as in SQL. */
export function roundDecimal(value: Decimal, places: number, method: Rounding): Decimal {
  if (value.scale <= places) return value;
  const unit = 10n ** BigInt(value.scale - places);
  const rest = value.units % unit;
  let units = value.units / unit;
  if (method === 'ceil' && rest > 0n) units += 1n;
  if (method === 'floor' && rest < 0n) units -= 1n;
  if (method === 'common' && (rest < 0n ? -rest : rest) * 2n >= unit) units += rest < 0n ? -1n : 1n;
  return places >= 0 ? { units, scale: places } : { units: units * 10n ** BigInt(-places), scale: 0 };
}

/** The decimal digits. The fraction is padded with zeros to `places` digits. */
export function decimalText({ units, scale }: Decimal, places = scale): string {
  const negative = units < 0n;
  const digits = String(negative ? -units : units).padStart(scale + 1, '0');
  const whole = digits.slice(0, digits.length - scale);
  const fraction = digits.slice(digits.length - scale).padEnd(places, '0');
  return `${negative ? '-' : ''}${whole}${fraction === '' ? '' : `.${fraction}`}`;
}
