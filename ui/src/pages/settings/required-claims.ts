import type { JwtIssuer } from '#core/contract/settings/jwt-issuers.ts';

type Claims = JwtIssuer['required_claims'];

/** Claims as tags, such as `tid=8f2c…`; an invalid list is stored as its text. */
export const claimTags = (claims: Claims | string): string[] =>
  typeof claims === 'string' ? claims.split(',') : Object.entries(claims).map(([name, value]) => `${name}=${value}`);

/** Parses the tags. With a fault, `value` is their text, which the contract refuses, so no issuer is saved without a typed claim. */
export function claimsOf(tags: readonly string[]): { readonly value: Claims | string; readonly fault?: string } {
  const claims = tags.map(
    (tag) =>
      /^([^=]+)=(.+)$/
        .exec(tag)
        ?.slice(1)
        .map((part) => part.trim()) ?? [],
  );
  const wrong = tags.filter((_, index) => claims[index]?.every((part) => part !== '') !== true || claims[index].length === 0);
  const names = claims.map(([name]) => name);
  const twice = names.find((name, index) => names.indexOf(name) < index);
  const fault =
    wrong.length > 0
      ? `${wrong.join(', ')}: write a claim as name=value.`
      : twice !== undefined && `${twice} is listed twice. Require one value per claim.`;
  return fault === false ? { value: Object.fromEntries(claims) as Claims } : { value: tags.join(','), fault };
}
