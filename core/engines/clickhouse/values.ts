import { NumberText } from '#core/lib/exact-json.ts';
import type { Json, ValueKind } from '#core/lib/sql/result.ts';
import { bare, type ClickhouseType } from './types.ts';

type Decode = (value: unknown) => Json;

interface Rule {
  readonly types: RegExp;
  readonly kind: ValueKind;
  readonly decode: Decode;
}

const RULES: readonly Rule[] = [
  { types: /^Bool$/, kind: 'boolean', decode: asBoolean },
  { types: /^U?Int(?:8|16|32)$/, kind: 'integer', decode: asInteger },
  { types: /^U?Int(?:64|128|256)$|^Interval/, kind: 'bigint', decode: asInteger },
  { types: /^(?:Float32|Float64|BFloat16)$/, kind: 'number', decode: asNumber },
  { types: /^(?:Point|Ring|LineString|MultiLineString|Polygon|MultiPolygon|QBit)$/, kind: 'json', decode: asAny },
  { types: /^(?:JSON|Object|Dynamic|Variant|Nothing|Geometry)$/, kind: 'json', decode: asAny },
];

export interface Decoder {
  readonly kind: ValueKind;
  readonly decode: Decode;
  /** True when numbers must be read from the text of the answer, to keep all digits. */
  readonly exact: boolean;
}

/** Returns the decoder for values of a type, including nested types. */
export function decoderOf(type: ClickhouseType): Decoder {
  const { name, of, names, text } = bare(type);
  const inner = of.map(decoderOf);
  const exact = inner.length === 0 || inner.some((each) => each.exact);
  if (name === 'Array') return { kind: 'array', decode: listOf(inner), exact };
  if (name === 'Tuple') return { kind: 'json', decode: names.length > 0 ? namedOf(names, inner) : listOf(inner, true), exact };
  if (name === 'Map') return { kind: 'json', decode: mapOf(inner[1]?.decode ?? asAny), exact };
  if (name.startsWith('DateTime') && text.endsWith("'UTC'")) return { kind: 'string', decode: asUtc, exact: false };
  const rule = RULES.find(({ types }) => types.test(name));
  if (rule === undefined) return { kind: 'string', decode: asText, exact: name.startsWith('Decimal') };
  return { kind: rule.kind, decode: rule.decode, exact: rule.kind === 'bigint' || rule.kind === 'json' };
}

const textIn = (value: unknown): string | null =>
  value instanceof NumberText ? value.text : typeof value === 'string' ? value : typeof value === 'number' ? String(value) : null;

function asText(value: unknown): Json {
  return textIn(value) ?? asAny(value);
}

function asBoolean(value: unknown): Json {
  if (typeof value === 'boolean' || value === null) return value;
  return textIn(value) === '1';
}

function asInteger(value: unknown): Json {
  const text = textIn(value);
  if (text === null) return asAny(value);
  const number = Number(text);
  return Number.isSafeInteger(number) ? number : text;
}

/** Infinity and NaN become null. */
function asNumber(value: unknown): Json {
  const text = textIn(value);
  if (text === null) return asAny(value);
  const number = Number(text);
  return Number.isFinite(number) ? number : null;
}

/** Without the ISO 8601 setting, servers write moments in the zone of the column. */
function asUtc(value: unknown): Json {
  const text = textIn(value);
  return text === null ? asAny(value) : text.replace(/^(\d{4}-\d\d-\d\d) (\d.*)/, '$1T$2Z');
}

/** Decodes values without a declared type. */
function asAny(value: unknown): Json {
  if (value instanceof NumberText) return /^-?\d+$/.test(value.text) ? asInteger(value) : asNumber(value);
  if (Array.isArray(value)) return value.map(asAny);
  if (typeof value !== 'object' || value === null) return (value as Json | undefined) ?? null;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, asAny(item)]));
}

/** @param each true when every element has a separate type; otherwise all share one. */
const listOf =
  (inner: readonly Decoder[], each = false): Decode =>
  (value) => {
    if (!Array.isArray(value)) return asAny(value);
    return value.map((item: unknown, i) => (item === null ? null : (inner[each ? i : 0]?.decode ?? asAny)(item)));
  };

const mapOf =
  (decode: Decode): Decode =>
  (value) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return asAny(value);
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, item === null ? null : decode(item)]));
  };

/** Older servers write the elements of a named tuple as a list. */
const namedOf =
  (names: readonly string[], inner: readonly Decoder[]): Decode =>
  (value) => {
    if (typeof value !== 'object' || value === null) return asAny(value);
    const items: Readonly<Record<string, unknown>> = Array.isArray(value)
      ? Object.fromEntries(names.map((name, i) => [name, (value as unknown[])[i]]))
      : (value as Record<string, unknown>);
    return Object.fromEntries(
      names.map((name, i) => [name, items[name] == null ? null : (inner[i]?.decode ?? asAny)(items[name])]),
    );
  };
