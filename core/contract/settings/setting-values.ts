import * as v from 'valibot';
import { textBetween } from '../fields.ts';
import { valuesOf } from '../marks.ts';

/** Maximum calls that a host samples. */
export const MOST_SAMPLES = 1_000;

/** Revisions of the Model Context Protocol, oldest first. Their order is that of their letters. */
export const ProtocolVersion = v.picklist(['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25', '2026-07-28']);
export type ProtocolVersion = v.InferOutput<typeof ProtocolVersion>;
export const Transport = v.picklist(['http', 'sse', 'stdio']);
/** In rising order of required authentication. */
export const AuthType = v.picklist(['none', 'bearer', 'oauth_credentials', 'oauth_introspection', 'jwt', 'oauth']);
export const DnsProvider = v.picklist(['cloudflare', 'route53']);

/** ASCII only. */
export const VariableName = v.pipe(
  v.string(),
  v.regex(/^[a-zA-Z_]\w{0,63}$/, 'must begin with a letter or underscore and hold at most 64 letters, digits and underscores'),
);
export const VARIABLE_CHOICES = {
  string: { label: 'Text' },
  integer: { label: 'Integer' },
  float: { label: 'Number' },
  boolean: { label: 'True or false' },
};
export const VariableType = v.picklist(valuesOf(VARIABLE_CHOICES));
export type VariableType = v.InferOutput<typeof VariableType>;

const Text = textBetween(0, 10_000);
const Finite = v.pipe(v.number(), v.finite());
const Scalar = v.union([Text, Finite, v.boolean()], 'must be a string, a number, true or false');
/** JSON parsing has already rounded such an integer, so without the type float it is not the value that the caller sent. */
const isExact = (value: unknown): boolean => !Number.isInteger(value) || Number.isSafeInteger(value);
const INEXACT = 'must be an integer from -(2^53 - 1) to 2^53 - 1; send a larger one as a string, or with the type float';
type Scalar = v.InferOutput<typeof Scalar>;

/** Allowed values per type. Integers beyond 2^53 do not survive JSON. */
const FITS: Readonly<Record<VariableType, (value: Scalar) => boolean>> = {
  string: (value) => typeof value === 'string',
  integer: Number.isSafeInteger,
  float: (value) => typeof value === 'number',
  boolean: (value) => typeof value === 'boolean',
};

export const Variable = v.object({ value: Scalar, type: VariableType });
export type Variable = v.InferOutput<typeof Variable>;
/** A scalar, which determines the type, or a value with its type. */
export const VariableDraft = v.union(
  [
    Text,
    v.pipe(
      Finite,
      v.check((value) => isExact(value), INEXACT),
    ),
    v.boolean(),
    v.pipe(
      v.strictObject({ value: Scalar, type: v.optional(VariableType) }),
      v.check(({ value, type }) => type !== undefined || isExact(value), INEXACT),
      v.check(({ value, type }) => type === undefined || FITS[type](value), 'must have a value of its type'),
    ),
  ],
  'must be a string, a number, true, false, or an object with value and type',
);
export type VariableDraft = v.InferOutput<typeof VariableDraft>;

/** The exact Origin that a browser sends: no path, no default port. `*` only if the server allows it. */
export const Origin = v.pipe(
  textBetween(1, 300),
  v.check(
    isOrigin,
    'must be an origin as browsers send it: scheme, host and any non-default port, such as https://app.example.com',
  ),
);

function isOrigin(text: string): boolean {
  if (text === '*') return true;
  if (!/^[a-z][a-z0-9+.-]*:\/\/[^\s/?#@\\*]+$/.test(text) || !URL.canParse(text)) return false;
  // Schemes other than those of the web have no comparable origin.
  return /^https?:/.test(text) ? new URL(text).origin === text : true;
}

export const BindAddress = v.pipe(
  textBetween(1, 253),
  v.regex(
    /^(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|[0-9A-Fa-f]*:[0-9A-Fa-f:]*(?:\d+\.\d+\.\d+\.\d+)?)$/,
    'must be an IP address or a host name, without a port',
  ),
);

export const Domain = v.pipe(
  textBetween(1, 253),
  v.regex(
    /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?$/,
    'must be a domain name in lower case, such as mcp.example.com',
  ),
);

export const HttpUrl = v.pipe(
  textBetween(1, 2_048),
  v.check((text) => {
    if (!URL.canParse(text)) return false;
    const { protocol, username, password, hash } = new URL(text);
    return /^https?:$/.test(protocol) && username === '' && password === '' && hash === '';
  }, 'must be an http:// or https:// URL without credentials and fragment'),
);

/** Must equal the `issuer` in the authorization server's metadata, including the path (RFC 8414 section 2). */
export const IssuerUrl = v.pipe(
  HttpUrl,
  v.check((text) => !text.includes('?'), 'must be the issuer of the authorization server, without a query'),
);
/** RFC 6749 section 3.3. */
export const ScopeName = v.pipe(
  textBetween(1, 255),
  v.regex(/^[\x21\x23-\x5b\x5d-\x7e]+$/, 'must contain only printable ASCII characters, without spaces, quotes and backslashes'),
);

/** RFC 6749 appendix A, without the space. */
export const ClientId = v.pipe(
  textBetween(1, 255),
  v.regex(/^[\x21-\x7e]+$/, 'must contain only printable ASCII characters, without spaces'),
);
export const Secret = textBetween(1, 4_096);

export const DnsCredentials = v.union(
  [
    v.strictObject({ api_token: Secret }),
    v.strictObject({ access_key_id: Secret, secret_access_key: Secret, hosted_zone_id: v.optional(Secret) }),
  ],
  'must be an object with api_token for cloudflare, or with access_key_id, secret_access_key and an optional hosted_zone_id for route53',
);
export type DnsCredentials = v.InferOutput<typeof DnsCredentials>;

/** The most days that a setting or a request can name for a token; the operator's `SVC_TOKEN_MAX_DAYS` is usually lower. */
export const MOST_TOKEN_DAYS = 3_650;
