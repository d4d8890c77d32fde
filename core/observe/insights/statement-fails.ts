import { beginning } from '#core/lib/text/shorten.ts';
import { messageFor } from '#core/observe/calls.ts';
import { behind, type InsightDraft, type InsightRule, times } from './insight.ts';

/** Minimum number of failures with the same message. */
const LEAST = 3;
const LONGEST = 300;

/** The same database error repeats: the statement does not fit its tables, whatever the arguments. */
export const statementFails: InsightRule = {
  name: 'statement-fails',
  passes: true,
  find: (_, { failed, usage, by_name, actor }) => {
    const groups = Map.groupBy(
      failed.filter(({ error, error_message }) => error === 'sql_error' && error_message !== null),
      // The groups must not reveal messages that the reader may not see.
      (call) => `${call.name}\n${messageFor(actor, call) ?? ''}`,
    );
    return [...groups.values()].flatMap((calls): InsightDraft[] => {
      const [call = NOTHING] = calls;
      const { name, error_message, sqlstate } = call;
      const tool = by_name.get(name);
      if (calls.length < LEAST || tool === undefined || error_message === null) return [];
      const message = messageFor(actor, call) ?? '';
      const sentence = beginning(message, LONGEST);
      return [
        {
          entity: { kind: 'tool', id: tool.id, name },
          about: message,
          message: `${name} failed ${times(calls.length)} with the same answer of its database: ${sentence}`,
          advice: ADVICE.find(([states]) => states.test(sqlstate ?? message))?.[1] ?? OTHER,
          logs: { name, outcome: 'tool_error' },
          ...behind(calls, calls.length, usage.get(name)?.calls ?? 0),
        },
      ];
    });
  },
};

const NOTHING = { name: '', error: null, error_message: null, sqlstate: null };
/** By SQLSTATE, or by the message of an engine without SQLSTATE. */
const ADVICE: readonly (readonly [RegExp, string])[] = [
  [
    /^42703$|^42S22$|no such column|unknown column/i,
    'The table has no such column, or no longer. Correct the statement in the builder and deploy; drift lists every definition that is concerned.',
  ],
  [
    /^42P01$|^42S02$|no such table|unknown table/i,
    'The table is not there, or the account cannot see it. Correct the statement or grant the right, then deploy.',
  ],
  [/^42501$|permission denied|denied/i, 'The database account lacks a right. Grant it, or use another connection.'],
];
const OTHER = 'Run the statement in the builder with the values of one of these calls, correct it and deploy.';
