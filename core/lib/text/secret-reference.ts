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

/**
 * Whether a prefix allows a reference: it is the reference, or its beginning up to a separator. `file:/run/secrets` allows
 * `file:/run/secrets/shop`, and not `file:/run/secrets-of-others/shop`.
 */
export const isAllowedBy = (prefixes: readonly string[], ref: string): boolean =>
  prefixes.some(
    (prefix) =>
      ref === prefix || (ref.startsWith(prefix) && (/[:/_#-]$/.test(prefix) || /^[/# ]/.test(ref.slice(prefix.length)))),
  );
