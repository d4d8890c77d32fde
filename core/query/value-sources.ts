import type { Json } from '#core/lib/sql/result.ts';
import type { ParameterType, Parameter, ScalarType } from '#core/contract/definitions/parameters.ts';
import { Work } from './argument-work.ts';
import { checkValue } from './argument-values.ts';
import { AppError } from '#core/errors.ts';
import type { Claims, Identity } from './identity.ts';

/** The facts of one call that values can come from: one member per source. */
export interface CallFacts {
  /** Arguments that the model sent. */
  readonly arguments: unknown;
  /** Global variables of the snapshot. */
  readonly vars: Readonly<Record<string, Json>>;
  /** The caller, as far as the credential proves it. */
  readonly caller: { readonly claims: Claims; readonly identity: Identity };
  /** ID of the call and its start, in milliseconds since 1970. */
  readonly call: { readonly id: string; readonly time: number };
}

/** Facts that sources can read: everything except the model's arguments. */
export type SourceFacts = Omit<CallFacts, 'arguments'>;

type Read = (facts: SourceFacts) => Json | undefined;

/** A parameter with a source. */
export interface Fill {
  readonly name: string;
  /** Undefined: the value is missing and not needed. Throws `caller_value_missing` if it is needed. */
  readonly read: Read;
}

/** Parameter types that a source can fill; sources without an entry can fill any type. */
const TYPES: Readonly<Record<string, readonly ParameterType[]>> = {
  'caller.groups': ['array', 'json'],
  'call.time': ['datetime', 'date', 'string'],
  'call.id': ['string', 'uuid'],
  ...Object.fromEntries(
    ['sub', 'name', 'email', 'client_id', 'token'].map((member) => [`caller.${member}`, ['string', 'uuid', 'integer', 'number']]),
  ),
};

const CONSTRAINTS = ['default', 'enum', 'minimum', 'maximum', 'min_length', 'max_length', 'pattern', 'examples'] as const;

/** Returns the conflicts of a parameter with its source, each with its field. */
export function sourceFaults(parameter: Parameter): [string, string][] {
  const { name, type, from } = parameter;
  if (from === undefined) return [];
  const allowed = TYPES[from];
  const faults: [string, string][] = CONSTRAINTS.filter((constraint) => (parameter[constraint] ?? null) !== null).map(
    (constraint) => [constraint, `${name} is filled with ${from}, so it cannot have ${constraint}. Remove one of them.`],
  );
  if (allowed !== undefined && !allowed.includes(type)) {
    faults.push(['type', `${name} is filled with ${from}, so its type must be ${allowed.join(' or ')}.`]);
  }
  return faults;
}

/** @param needed true if the parameter is used outside optional blocks, so a call without the value is refused. */
export function fillOf(parameter: Parameter, needed: boolean): Fill | null {
  const { name, from, type, items = 'string' } = parameter;
  if (from === undefined) return null;
  const source = readerOf(from);
  const check = checkValue(type === 'array' ? { type, items } : { type }, undefined);
  const convert = type === 'array' ? toList(items) : toScalar(type);
  const read: Read = (facts) => {
    const value = source(facts) ?? null;
    if (value === null) {
      if (needed) throw missing(`This call needs ${from}, which the caller does not have.`);
      return undefined;
    }
    const found = check(convert(value), new Work());
    if (!found.ok) throw missing(`This call needs ${from}, and that of the caller has another type.`);
    return found.value;
  };
  return { name, read };
}

const missing = (detail: string): AppError =>
  new AppError('caller_value_missing', `${detail} Ask the administrator of the server.`);

const CLAIM = 'caller.claims.';

const MEMBERS: Readonly<Record<string, Read>> = {
  'caller.sub': ({ caller }) => caller.identity.sub,
  'caller.name': ({ caller }) => caller.identity.name,
  'caller.email': ({ caller }) => caller.identity.email,
  'caller.client_id': ({ caller }) => caller.identity.client_id,
  'caller.groups': ({ caller }) => caller.identity.groups,
  'caller.token': ({ caller }) => caller.identity.token,
  'call.time': ({ call }) => new Date(call.time).toISOString(),
  'call.id': ({ call }) => call.id,
};

/** Returns the reader of a source such as `caller.sub` or `vars.region`. */
export function readerOf(from: string): Read {
  const member = MEMBERS[from];
  if (member !== undefined) return member;
  if (from.startsWith(CLAIM)) return claimReader(from.slice(CLAIM.length));
  const name = from.slice('vars.'.length);
  return ({ vars }) => memberOf(vars, name);
}

/** Looks up a claim by its full name, which can contain dots, and else by one level per part of the name. */
function claimReader(name: string): Read {
  const path = name.split('.');
  return ({ caller: { claims } }) => {
    const whole = memberOf(claims, name);
    if (whole !== undefined || path.length === 1) return whole;
    let value: Json | undefined = claims;
    for (const part of path) value = isObject(value) ? memberOf(value, part) : undefined;
    return value;
  };
}

type Members = Readonly<Record<string, Json>>;

const memberOf = (members: Members, name: string): Json | undefined => (Object.hasOwn(members, name) ? members[name] : undefined);

const isObject = (value: Json | undefined): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

type Convert = (value: Json) => Json;

/** The same claim is a string from one issuer and a number from another. */
const toText: Convert = (value) => (typeof value === 'number' || typeof value === 'boolean' ? String(value) : value);

const toNumber: Convert = (value) =>
  typeof value === 'string' && /^-?\d{1,16}$/.test(value) && Number.isSafeInteger(Number(value)) ? Number(value) : value;

const SCALARS: Partial<Readonly<Record<ParameterType, Convert>>> = {
  string: toText,
  integer: toNumber,
  number: toNumber,
  boolean: (value) => (value === 'true' || value === 'false' ? value === 'true' : value),
  date: (value) => (typeof value === 'string' ? value.slice(0, 10) : value),
};

const toScalar = (type: ParameterType): Convert => SCALARS[type] ?? ((value) => value);

/** A single value counts as a list of one element. */
function toList(items: ScalarType): Convert {
  const convert = toScalar(items);
  return (value) => (Array.isArray(value) ? value.map(convert) : [convert(value)]);
}
