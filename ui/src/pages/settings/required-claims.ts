import type { JwtIssuer } from '#core/contract/settings/jwt-issuers.ts';

type Claims = JwtIssuer['required_claims'];

/** Claims as they are typed, such as `tid=8f2c…`; what is no list of claims yet is kept as the text of all. */
export const claimTags = (claims: Claims | string): string[] =>
  typeof claims === 'string' ? claims.split(',') : Object.entries(claims).map(([name, value]) => `${name}=${value}`);

/** What the tags mean. With a fault it is their text, which the contract refuses: no issuer is saved without a claim that was typed. */
export function claimsOf(tags: readonly string[]): { readonly value: Claims | string; readonly fault?: string } {
  const claims = tags.map(
    (tag) =>
      /^([^=]+)=(.+)$/
        .exec(tag)
        ?.slice(1)
        .map((part) => part.trim()) ?? [],
  );
  const wrong = tags.filter((_, place) => claims[place]?.every((part) => part !== '') !== true || claims[place].length === 0);
  const names = claims.map(([name]) => name);
  const twice = names.find((name, place) => names.indexOf(name) < place);
  const fault =
    wrong.length > 0
      ? `${wrong.join(', ')}: write a claim as name=value.`
      : twice !== undefined && `${twice} is listed twice. Require one value per claim.`;
  return fault === false ? { value: Object.fromEntries(claims) as Claims } : { value: tags.join(','), fault };
}
