import { didYouMean, type FieldError } from '#core/errors.ts';

/**
 * Arguments that clients add to every call, whether or not a tool declares them: the first by Gemini CLI, the others by n8n.
 * docs/clients.md has the sources. They are dropped without a report, because neither the caller nor its model sent them.
 */
export const ADDED_BY_CLIENTS: ReadonlySet<string> = new Set(['wait_for_previous', 'toolCallId', 'sessionId', 'chatInput']);
/** n8n adds this one together with its session. Alone it may be what a model intended. */
const ADDED_WITH_SESSION = 'action';

const NONE: readonly string[] = [];

/** Names of undeclared arguments, except those that a client added. */
export function undeclaredIn(given: Readonly<Record<string, unknown>>, declared: ReadonlySet<string>): readonly string[] {
  let undeclared: string[] | null = null;
  for (const name of Object.keys(given)) {
    if (!declared.has(name) && !ADDED_BY_CLIENTS.has(name)) (undeclared ??= []).push(name);
  }
  if (undeclared === null) return NONE;
  if (!undeclared.includes(ADDED_WITH_SESSION) || !Object.hasOwn(given, 'sessionId')) return undeclared;
  return undeclared.filter((name) => name !== ADDED_WITH_SESSION);
}

/** A caller that sends thousands of names only needs the first ones to see the problem. */
const MAX_NAMED = 20;
const LONGEST_NAMED = 64;

/** The names for an answer and for the request log. */
export const namedOf = (undeclared: readonly string[]): string[] =>
  undeclared.slice(0, MAX_NAMED).map((name) => name.slice(0, LONGEST_NAMED).toWellFormed());

/** The last line of an answer that ignored some arguments. It stays one line, whatever characters the names contain. */
export const ignoredText = (ignored: readonly string[]): string =>
  `Ignored arguments that the tool does not have: ${ignored.map(nameText).join(', ')}.`;

const nameText = (name: string): string => (/^[\w.$-]+$/.test(name) ? name : JSON.stringify(name));

/** The member of `_meta` that lists them. */
export const IGNORED_META = 'sluice/ignored';

/** A fault for each name, with the nearest declared one. */
export const undeclaredFaults = (undeclared: readonly string[], declared: readonly string[]): FieldError[] =>
  namedOf(undeclared).map((field) => ({ field, message: `There is no argument ${field}.${didYouMean(field, declared)}` }));
