/** A parsed level 1 template of RFC 6570: normalised literals alternating with variables. */
export interface UriTemplate {
  readonly text: string;
  readonly literals: readonly string[];
  readonly variables: readonly string[];
}

/**
 * The characters of a value. Level 1 expansion leaves only unreserved characters (RFC 6570, section 3.2.2), but some clients, and
 * people who write addresses, leave all that are allowed in a path segment (RFC 3986, section 3.3).
 */
const VALUE = /^[\w.~%!$&'()*+,;=:@-]+$/;
/** In a query, `&` starts the next field. */
const QUERY_VALUE = /^[\w.~%!$'()*+,;=:@-]+$/;

export function parseUriTemplate(text: string): UriTemplate {
  const { literals, variables } = split(text);
  return { text, literals: literals.map((literal, n) => (n === 0 ? normalUri(literal) : normalEscapes(literal))), variables };
}

function split(text: string): { readonly literals: string[]; readonly variables: string[] } {
  const parts = text.split(/\{([A-Za-z0-9_]+)\}/);
  return { literals: parts.filter((_, n) => n % 2 === 0), variables: parts.filter((_, n) => n % 2 === 1) };
}

/**
 * The same text for every notation of an address: scheme in lower case, unreserved characters unescaped, and all characters that
 * are not allowed in addresses percent-encoded (RFC 3986, section 6.2.2; RFC 3987, section 3.1). Reserved characters differ from
 * their escapes.
 */
export const normalUri = (uri: string): string =>
  normalEscapes(uri).replace(/^[A-Za-z][A-Za-z0-9+.-]*:/, (scheme) => scheme.toLowerCase());

const normalEscapes = (text: string): string =>
  text.replaceAll(/%[0-9A-Fa-f]{2}|[^\w.~%:/?#[\]@!$&'()*+,;=-]+/g, (found) => {
    if (!found.startsWith('%')) return encodeURIComponent(found.toWellFormed());
    const character = String.fromCharCode(Number.parseInt(found.slice(1), 16));
    return /[\w.~-]/.test(character) ? character : found.toUpperCase();
  });

/** Number of literal characters. Of two templates that match a URI, the one with more is more specific. */
export const literalLength = ({ literals }: UriTemplate): number => literals.join('').length;

/**
 * What is wrong with a template, as a sentence. Null when it is valid: level 1 expressions after a scheme (RFC 6570, RFC 3986
 * section 3.1).
 */
export function uriTemplateFault(text: string): string | null {
  if (!/^[A-Za-z][A-Za-z0-9+.-]*:/.test(text)) return 'uri_template must begin with a scheme, such as shop://products/{id}.';
  const { literals, variables } = split(text);
  if (literals.some((literal) => /[{}]/.test(literal))) {
    return 'uri_template can contain only simple variables such as {id}: letters, digits and underscores between braces.';
  }
  if (literals.some((literal) => /[\s<>"\\^`|]/.test(literal)))
    return 'uri_template contains a character that is not allowed in a URI.';
  const twice = variables.find((name, n) => variables.indexOf(name) !== n);
  if (twice !== undefined) return `uri_template names the variable ${twice} twice.`;
  const touching = literals.slice(1, -1).includes('');
  return touching ? 'uri_template has two variables with nothing between them. Put a literal such as / there.' : null;
}

/**
 * The variables of a URI that the template expands to, or null. One pass without backtracking: a value ends where the
 * following literal first appears, the last one where the closing literal ends the URI.
 * @param uri in normal form.
 */
export function matchUri({ literals, variables }: UriTemplate, uri: string): Record<string, string> | null {
  const [first = ''] = literals;
  if (!uri.startsWith(first)) return null;
  if (variables.length === 0) return uri === first ? {} : null;
  // Without a prototype, so that a variable can have any name.
  const values: Record<string, string> = Object.create(null);
  let at = first.length;
  let in_query = first.includes('?');
  for (const [n, name] of variables.entries()) {
    const literal = literals[n + 1] ?? '';
    const last = n === variables.length - 1;
    if (last && !uri.endsWith(literal)) return null;
    const end = last ? uri.length - literal.length : uri.indexOf(literal, at);
    if (end <= at) return null;
    const value = decode(uri.slice(at, end), in_query ? QUERY_VALUE : VALUE);
    if (value === null) return null;
    values[name] = value;
    at = end + literal.length;
    in_query ||= literal.includes('?');
  }
  return values;
}

function decode(text: string, allowed: RegExp): string | null {
  if (!allowed.test(text)) return null;
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

/**
 * Converts texts of a URI to the types of their parameters. A text that does not fit stays a text, and is refused by its check.
 */
export const typedValues = (
  texts: Readonly<Record<string, string>>,
  parameters: readonly { readonly name: string; readonly type: string }[],
): Record<string, string | number | boolean> =>
  Object.fromEntries(
    Object.entries(texts).map(([name, text]) => {
      const type = parameters.find((parameter) => parameter.name === name)?.type;
      if (type === 'integer' && /^-?\d{1,16}$/.test(text) && Number.isSafeInteger(Number(text))) return [name, Number(text)];
      if (type === 'boolean' && (text === 'true' || text === 'false')) return [name, text === 'true'];
      return [name, text];
    }),
  );
