import * as v from 'valibot';

const Word = v.optional(v.nullable(v.pipe(v.string(), v.maxLength(1_000))), null);
/** The caller that a preview or a playground message pretends to be. Only signed-in people can set it; tokens cannot. */
export const PretendedCaller = v.strictObject({
  sub: Word,
  name: Word,
  email: Word,
  client_id: Word,
  groups: v.optional(v.pipe(v.array(v.pipe(v.string(), v.maxLength(255))), v.maxLength(100)), []),
  token: Word,
  claims: v.optional(v.record(v.string(), v.unknown()), {}),
});
export type PretendedCaller = v.InferOutput<typeof PretendedCaller>;
