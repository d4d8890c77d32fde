import { didYouMean, type FieldError } from '#core/errors.ts';

/**
 * Arguments that clients add to every call, whatever the tool declares: Gemini CLI the first, n8n the others. docs/clients.md has the
 * sources. They are dropped without being reported, because neither the caller nor its model sent them.
 */
export const ADDED_BY_CLIENTS: ReadonlySet<string> = new Set(['wait_for_previous', 'toolCallId', 'sessionId', 'chatInput']);
/** n8n adds this one together with its session. On its own it may well be what a model meant. */
const ADDED_WITH_SESSION = 'action';

/** Names of arguments that the tool does not declare, without those that a client added. */
export function undeclaredIn(given: Readonly<Record<string, unknown>>, declared: ReadonlySet<string>): string[] {
  const undeclared: string[] = [];
  for (const name of Object.keys(given)) if (!declared.has(name) && !ADDED_BY_CLIENTS.has(name)) undeclared.push(name);
  if (!undeclared.includes(ADDED_WITH_SESSION) || !Object.hasOwn(given, 'sessionId')) return undeclared;
  return undeclared.filter((name) => name !== ADDED_WITH_SESSION);
}

/** A caller that sends thousands learns from the first what is wrong. */
export const MOST_NAMED = 20;
export const LONGEST_NAMED = 64;

/** The names as an answer and the request log have them. */
export const namedOf = (undeclared: readonly string[]): string[] =>
  undeclared.slice(0, MOST_NAMED).map((name) => name.slice(0, LONGEST_NAMED).toWellFormed());

/** The last line of an answer that was given without some arguments. It is one line, whatever a caller calls its arguments. */
export const ignoredText = (ignored: readonly string[]): string =>
  `Ignored arguments that the tool does not have: ${ignored.map(nameText).join(', ')}.`;

const nameText = (name: string): string => (/^[\w.$-]+$/.test(name) ? name : JSON.stringify(name));

/** The member of `_meta` that names them. */
export const IGNORED_META = 'sluice/ignored';

/** A refusal for each of them that names the nearest declared one. */
export const undeclaredFaults = (undeclared: readonly string[], declared: readonly string[]): FieldError[] =>
  namedOf(undeclared).map((field) => ({ field, message: `There is no argument ${field}.${didYouMean(field, declared)}` }));
