import { beginning } from '#core/lib/text/shorten.ts';
import { dialectNamed } from '#core/engines/index.ts';
import type { Changes } from '#core/engines/shared/source.ts';
import { isSent } from '#core/query/arguments.ts';
import { writeTarget } from '#core/lib/sql/write-target.ts';
import type { FrozenTool } from '#snapshots/format/format.ts';
import type { Members } from '#mcp-host/protocol/messages.ts';
import type { RequestRecord } from '#mcp-host/requests/request-record.ts';

/** The one field of the form: some clients accept forms without a required field by themselves. */
export const ANSWER = 'ok';
/** The form as it would be filled in, of what was decided on the page instead. */
export const pageAnswer = (approved: boolean): Members => ({
  action: approved ? 'accept' : 'decline',
  content: { [ANSWER]: approved },
});
const LONGEST_VALUE = 80;
const MOST_VALUES = 10;

/** A write that somebody is asked about. */
export interface WriteQuestion {
  readonly tool: FrozenTool;
  readonly args: Members;
  readonly changes: Changes;
  /** What they agreed to before, when other rows would change by now; null: that is not why they are asked. */
  readonly before: Changes | null;
  /** What became of their answer to an earlier question. */
  readonly earlier?: RequestRecord['confirmation'];
}

/** What is asked, as a form of `elicitation/create`. Every word but the values of arguments is ours; those are quoted. */
export function questionOf(asked: WriteQuestion): Members {
  const { changes } = asked;
  const message = `${sentenceOf(asked)}${argumentsOf(asked)} Nothing was changed yet.`;
  const title = changes.all === 1 ? 'Change 1 row' : `Change ${changes.all.toLocaleString('en')} rows`;
  return {
    mode: 'form',
    message,
    requestedSchema: { type: 'object', properties: { [ANSWER]: { type: 'boolean', title } }, required: [ANSWER] },
  };
}

/** The same, answered on a page that shows the rest. */
export const pageMessage = (asked: WriteQuestion): string =>
  `${sentenceOf(asked)} Nothing was changed yet. Open the page to approve or decline within 2 minutes.`;

function sentenceOf(asked: WriteQuestion): string {
  const { tool, changes } = asked;
  const target = targetOf(tool);
  return `${titleOf(tool)} would change ${rowsOf(changes)}${target === null ? '' : ` with ${target}`}.${whyAgain(asked)}`;
}

/** Whoever has answered already reads why they are asked again. */
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

/** Such as `DELETE FROM notes`; null: that cannot be told for sure. */
export function targetOf({ statement }: FrozenTool): string | null {
  const target = writeTarget(statement, dialectNamed(statement.dialect));
  return target === null ? null : plain(target).replaceAll(/\s+/g, ' ');
}

/** All arguments of a call, as they are shown to people. */
export const givenArguments = ({ tool, args }: WriteQuestion): (readonly [name: string, value: string])[] =>
  tool.parameters
    .filter((parameter) => isSent(parameter) && Object.hasOwn(args, parameter.name))
    .map(({ name }) => [name, plain(JSON.stringify(args[name]))]);

function argumentsOf(asked: WriteQuestion): string {
  const given = givenArguments(asked);
  if (given.length === 0) return '';
  const shown = given.slice(0, MOST_VALUES).map(([name, value]) => `${name} = ${shorten(value)}`);
  const more = given.length - shown.length;
  return ` Arguments: ${shown.join(', ')}${more > 0 ? `, and ${more} more` : ''}.`;
}

/** Whoever decides has to know that there is more. */
const shorten = (text: string): string =>
  text.length <= LONGEST_VALUE
    ? text
    : `${beginning(text, LONGEST_VALUE)}… (${(text.length - LONGEST_VALUE).toLocaleString('en')} more characters)`;
/** Without what moves or hides text: control, format and separator characters. */
export const plain = (text: string): string => text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, ' ');
