import { beginning } from '#core/lib/text/shorten.ts';
import { dialectNamed } from '#core/engines/index.ts';
import type { Changes } from '#core/engines/shared/source.ts';
import { isSent } from '#core/query/arguments.ts';
import { writeTarget } from '#core/lib/sql/write-target.ts';
import type { FrozenTool } from '#snapshots/format/format.ts';
import type { Members } from '#mcp-host/protocol/messages.ts';
import type { RequestRecord } from '#mcp-host/requests/request-record.ts';

/** The only field of the form: some clients accept a form without a required field automatically. */
export const ANSWER = 'ok';
/** A decision from the page, as the form that the client would have sent. */
export const pageAnswer = (approved: boolean): Members => ({
  action: approved ? 'accept' : 'decline',
  content: { [ANSWER]: approved },
});
const LONGEST_VALUE = 80;
const MOST_VALUES = 10;

/** A write that a person has to confirm. */
export interface WriteQuestion {
  readonly tool: FrozenTool;
  readonly args: Members;
  readonly changes: Changes;
  /** The changes that the person confirmed, if the rows are different now; null: nothing was confirmed. */
  readonly before: Changes | null;
  /** The outcome of an earlier question. */
  readonly earlier?: RequestRecord['confirmation'];
}

/** The question as a form of `elicitation/create`. Every word comes from Sluice, except the quoted values of arguments. */
export function questionOf(write: WriteQuestion): Members {
  const { changes } = write;
  const message = `${sentenceOf(write)}${argumentsOf(write)} Nothing was changed yet.`;
  const title = changes.all === 1 ? 'Change 1 row' : `Change ${changes.all.toLocaleString('en')} rows`;
  return {
    mode: 'form',
    message,
    requestedSchema: { type: 'object', properties: { [ANSWER]: { type: 'boolean', title } }, required: [ANSWER] },
  };
}

/** The message that links to the page, which shows the details. */
export const pageMessage = (write: WriteQuestion): string =>
  `${sentenceOf(write)} Nothing was changed yet. Open the page to approve or decline within 2 minutes.`;

function sentenceOf(write: WriteQuestion): string {
  const { tool, changes } = write;
  const target = targetOf(tool);
  return `${titleOf(tool)} would change ${rowsOf(changes)}${target === null ? '' : ` with ${target}`}.${whyAgain(write)}`;
}

/** Why a person gets a question again after an answer. */
function whyAgain({ before, earlier }: WriteQuestion): string {
  if (before !== null) return ` The number of rows changed since you were asked: it was ${before.all}.`;
  if (earlier === 'changed') return ' Another version was deployed since you were asked.';
  return earlier === 'expired' ? ' Your earlier answer no longer counts.' : '';
}

export const titleOf = ({ name, listing }: FrozenTool): string =>
  typeof listing['title'] === 'string' ? `“${plain(listing['title'])}” (${name})` : `“${name}”`;

export function rowsOf({ direct, all }: Changes): string {
  const rows = all === 1 ? '1 row' : `${all.toLocaleString('en')} rows`;
  if (direct === null || direct === all) return rows;
  return `${rows} (${direct.toLocaleString('en')} directly, ${(all - direct).toLocaleString('en')} through cascades, triggers or functions)`;
}

/** The statement's target, such as `DELETE FROM notes`; null: not certain. */
export function targetOf({ statement }: FrozenTool): string | null {
  const target = writeTarget(statement, dialectNamed(statement.dialect));
  return target === null ? null : plain(target).replaceAll(/\s+/g, ' ');
}

/** All arguments of a call, as people see them. */
export const givenArguments = ({ tool, args }: WriteQuestion): (readonly [name: string, value: string])[] =>
  tool.parameters
    .filter((parameter) => isSent(parameter) && Object.hasOwn(args, parameter.name))
    .map(({ name }) => [name, plain(JSON.stringify(args[name]))]);

function argumentsOf(write: WriteQuestion): string {
  const given = givenArguments(write);
  if (given.length === 0) return '';
  const shown = given.slice(0, MOST_VALUES).map(([name, value]) => `${name} = ${shorten(value)}`);
  const more = given.length - shown.length;
  return ` Arguments: ${shown.join(', ')}${more > 0 ? `, and ${more} more` : ''}.`;
}

/** Marks a shortened text, because a person decides by it. */
const shorten = (text: string): string =>
  text.length <= LONGEST_VALUE
    ? text
    : `${beginning(text, LONGEST_VALUE)}… (${(text.length - LONGEST_VALUE).toLocaleString('en')} more characters)`;
/** Replaces control, format and separator characters, which can move or hide text. */
export const plain = (text: string): string => text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, ' ');
