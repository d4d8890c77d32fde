import type { Output } from '#core/contract/index.ts';
import type { Members } from '#core/lib/view/table.ts';

type CallDetail = Output<'logs.get'>;
type Logged = Pick<CallDetail, 'arguments_state' | 'arguments' | 'arguments_masked' | 'arguments_left_out'>;

/** Why the arguments of a call are not there, as a sentence. */
export const NO_ARGUMENTS = {
  not_logged: 'The arguments of this call were not logged.',
  removed: 'The arguments of this call were deleted at the end of their retention.',
  hidden: 'Only people with the role Editor or higher see the arguments of this call.',
  key_missing: 'The arguments of this call were encrypted with a key that SVC_ENCRYPTION_KEY no longer has.',
} as const satisfies Record<Exclude<CallDetail['arguments_state'], 'logged'>, string>;

/** Arguments that were sent as they stand here, and the names of those that are masked or did not fit. */
interface KnownArguments {
  readonly values: Members;
  readonly missing: readonly string[];
}

/** Undefined: nothing is known of them. */
export function knownArguments(of: Logged): KnownArguments | undefined {
  if (of.arguments === null) return undefined;
  const missing = [...new Set([...of.arguments_masked, ...of.arguments_left_out])];
  return {
    values: Object.fromEntries(Object.entries(of.arguments).filter(([name]) => !missing.includes(name))),
    missing,
  };
}

/** What a call sent, where all of it is known. */
export function allArguments(of: Logged): Members | undefined {
  const known = knownArguments(of);
  return known === undefined || known.missing.length > 0 ? undefined : known.values;
}
