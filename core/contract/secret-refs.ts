import * as v from 'valibot';
import { textBetween } from './fields.ts';

/** Where a secret is found, instead of the secret. */
export type Reference =
  | { readonly kind: 'env'; readonly name: string }
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'vault'; readonly mount: string; readonly path: string; readonly field: string }
  | { readonly kind: 'exec'; readonly command: string; readonly args: readonly string[] };

const SEGMENT = String.raw`(?!\.{1,2}(?:/|#|$))[^\s/#?%\\]+`;
const FILE = new RegExp(String.raw`^file:(/${SEGMENT}(?:/${SEGMENT})*)$`);
const VAULT = new RegExp(`^vault:(${SEGMENT})/(${SEGMENT}(?:/${SEGMENT})*)#([^\\s#]+)$`);
const ENV = /^env:([A-Za-z_]\w*)$/;
/** An argument that begins with a hyphen could be an option of the command. */
const EXEC = /^exec:([\w-]+)((?: [^\s-]\S*)*)$/;

/** Null: the text is not a reference. */
export function parseReference(text: string): Reference | null {
  const [, name] = ENV.exec(text) ?? [];
  if (name !== undefined) return { kind: 'env', name };
  const [, file] = FILE.exec(text) ?? [];
  if (file !== undefined) return { kind: 'file', path: file };
  const [, mount, path, field] = VAULT.exec(text) ?? [];
  if (mount !== undefined && path !== undefined && field !== undefined) return { kind: 'vault', mount, path, field };
  const [, command, args = ''] = EXEC.exec(text) ?? [];
  return command === undefined ? null : { kind: 'exec', command, args: args.split(' ').filter((one) => one !== '') };
}

export const REFERENCE_FORMS = 'env:NAME, file:/path, vault:mount/path#field or exec:command argument';

/** A reference, sent in place of a secret. */
export const SecretRef = v.strictObject({
  ref: v.pipe(
    textBetween(1, 1_024),
    v.check((text) => parseReference(text) !== null, `must be ${REFERENCE_FORMS}`),
  ),
});
export type SecretRef = v.InferOutput<typeof SecretRef>;

/** A secret, or where it is found. */
export const secretOrRef = <S extends v.GenericSchema>(secret: S) =>
  v.pipe(
    v.union([secret, SecretRef], 'must be the secret, or an object with ref'),
    v.description(`The secret, or {ref} with the place where each program finds it: ${REFERENCE_FORMS}`),
  );

/** Present in a response only if the secret is a reference. */
export const ShownRef = v.optional(
  v.pipe(SecretRef, v.description('The place of the secret; absent: the secret is stored here, or there is none')),
);

const PREFIX = /^(?:env:\w*|file:\/\S*|vault:\S*|exec:[\w-]+(?: \S+)*)$/;
/** The beginning of the references that connections and settings can have. */
export const RefPrefix = v.pipe(
  textBetween(4, 1_024),
  v.regex(PREFIX, 'must begin with env:, file:/, vault: or exec: and a command'),
  v.check(
    (text) => !/(?:^|\/)\.{1,2}(?:\/|$)/.test(text.slice(text.indexOf(':') + 1)),
    'must not contain . or .. as a step of a path',
  ),
);

/**
 * Whether a prefix allows a reference: it is the reference, or its beginning up to a separator. `file:/run/secrets` allows
 * `file:/run/secrets/shop`, and not `file:/run/secrets-of-others/shop`.
 */
export const isAllowedBy = (prefixes: readonly string[], ref: string): boolean =>
  prefixes.some(
    (prefix) =>
      ref === prefix || (ref.startsWith(prefix) && (/[:/_#-]$/.test(prefix) || /^[/# ]/.test(ref.slice(prefix.length)))),
  );
