import type { Platform } from '#core/platform/platform.ts';
import { inArray } from 'drizzle-orm';
import type { Parameter } from '#core/contract/definitions/parameters.ts';
import { isSent } from '#core/query/arguments.ts';
import { behind, type InsightDraft, type InsightRule, times } from './insight.ts';
import type { ObservedCall, ObservedTool } from './observed.ts';

/** Minimum number of refusals of an argument for one reason, and their minimum share of the calls of the tool. */
const LEAST = 3;
const LEAST_SHARE = 0.05;
const LONGEST_DESCRIPTION = 5_000;
const SHOWN_CHOICES = 20;

/** Callers repeatedly send a wrong argument in the same way: its description is not clear enough. */
export const argumentFails: InsightRule = {
  name: 'argument-fails',
  passes: true,
  find: async (app, { failed, usage, by_name }) => {
    const wrong = failed.filter(
      ({ name, error, error_message }) => error === 'invalid' && error_message !== null && by_name.has(name),
    );
    const by_tool = Map.groupBy(wrong, ({ name }) => name);
    const candidates = [...by_tool].filter(([, calls]) => calls.length >= LEAST).map(([name]) => name);
    const parameters = await readParameters(app, candidates);
    return candidates.flatMap((name): InsightDraft[] => {
      const tool = by_name.get(name);
      const declared = (parameters.get(name) ?? []).filter(isSent);
      if (tool === undefined) return [];
      const groups = new Map<string, { readonly fault: ArgumentFault; readonly calls: ObservedCall[] }>();
      for (const call of by_tool.get(name) ?? []) {
        for (const fault of faultsIn(call.error_message ?? '', declared)) {
          const key = `${fault.parameter.name} ${fault.sentence}`;
          const group = groups.get(key) ?? { fault, calls: [] };
          group.calls.push(call);
          groups.set(key, group);
        }
      }
      const all = usage.get(name)?.calls ?? 0;
      return [...groups.values()]
        .filter(({ calls }) => calls.length >= LEAST && calls.length >= LEAST_SHARE * all)
        .map(({ fault, calls }) => toFound(tool, parameters.get(name) ?? [], fault, calls, all));
    });
  },
};

interface ArgumentFault {
  readonly parameter: Parameter;
  /** The message to the caller, without positions and values. */
  readonly sentence: string;
}

/** The sentences about parameters in an error message (`core/query/arguments.ts` writes one per parameter). */
function faultsIn(message: string, parameters: readonly Parameter[]): ArgumentFault[] {
  return parameters.flatMap((parameter) => {
    const { name } = parameter;
    const pattern = new RegExp(
      `(?:^|[.?] )(${name} (?:must|is|has|does)\\b.*?[.?])(?= [A-Za-z_]\\w* (?:must|is|has|does)\\b| There is no |$)`,
      's',
    );
    const sentence = pattern.exec(message)?.[1];
    if (sentence !== undefined) return [{ parameter, sentence: sentence.replace(/at position \d+/, 'in the list') }];
    return message.includes(`Did you mean ${name}?`) ? [{ parameter, sentence: `Callers use another name for ${name}.` }] : [];
  });
}

function toFound(
  tool: ObservedTool,
  parameters: readonly Parameter[],
  { parameter, sentence }: ArgumentFault,
  calls: readonly ObservedCall[],
  all: number,
): InsightDraft {
  const { name } = tool;
  const kind = FAULT_PATTERNS.find(({ of }) => of.test(sentence));
  const added = kind?.says(parameter);
  const fix = added === undefined ? undefined : describing(tool, parameters, parameter, added);
  return {
    entity: { kind: 'tool', id: tool.id, name },
    about: `${parameter.name} ${sentence}`,
    message: `The argument ${parameter.name} of ${name} was refused ${times(calls.length)} for the same reason: ${sentence}`,
    advice: kind?.advice ?? 'Say in the description of the argument what it takes, with an example.',
    logs: { name, outcome: 'tool_error' },
    fix: fix ?? (kind?.asks === true ? asking(tool) : undefined),
    ...behind(calls, calls.length, all),
  };
}

interface FaultPattern {
  readonly of: RegExp;
  readonly advice: string;
  /** A sentence to add to the description. Undefined when there is no suggestion. */
  readonly says: (parameter: Parameter) => string | undefined;
  /** The caller can request the value from the person. */
  readonly asks?: true;
}

const FAULT_PATTERNS: readonly FaultPattern[] = [
  {
    of: /must be one of /,
    advice: 'Name the allowed values in the description; add a value if callers are right to send it.',
    says: ({ enum: choices }) =>
      choices === undefined
        ? undefined
        : `One of: ${choices.slice(0, SHOWN_CHOICES).join(', ')}${choices.length > SHOWN_CHOICES ? ', …' : ''}.`,
  },
  {
    of: /is required/,
    advice: 'Say that it is required and where the value comes from, give it a default, or let a person be asked for it.',
    says: () => undefined,
    asks: true,
  },
  {
    of: /another name/,
    advice: 'Rename the parameter as callers call it, or name it in the description of the tool.',
    says: () => undefined,
  },
  {
    of: /pattern/,
    advice: 'Describe the form of the value and give examples: models do not read patterns well.',
    says: ({ pattern }) => (pattern === undefined ? undefined : `Has to match ${pattern}`),
  },
  {
    of: /must be at (?:least|most) /,
    advice: 'Say the range in the description, or widen it.',
    says: ({ minimum, maximum }) => {
      const parts = [minimum === undefined ? [] : `from ${minimum}`, maximum === undefined ? [] : `to ${maximum}`].flat();
      return parts.length === 0 ? undefined : `A number ${parts.join(' ')}.`;
    },
  },
  {
    of: /must be an integer/,
    advice: 'Say in the description that it is a whole number, or change its type.',
    says: () => 'A whole number, without quotes.',
  },
  {
    of: /must be (?:a number|true or false|a string|an array|a UUID|a date)/,
    advice: 'Say the type in the description and give an example, or change the type.',
    says: ({ type }) => TYPE_HINTS[type],
  },
];
const TYPE_HINTS: Partial<Readonly<Record<Parameter['type'], string>>> = {
  number: 'A number, without quotes.',
  boolean: 'true or false, without quotes.',
  date: 'A date such as 2026-01-31.',
  datetime: 'A time with its zone such as 2026-01-31T09:30:00Z.',
  uuid: 'A UUID.',
  array: 'A list, also for one value.',
};

/** Adds a sentence to the description of a parameter. */
function describing(
  tool: ObservedTool,
  parameters: readonly Parameter[],
  parameter: Parameter,
  added: string,
): InsightDraft['fix'] {
  const before = parameter.description.trim().replace(/(?<=[^.!?…])$/, '.');
  const description = before === '' ? added : `${before} ${added}`;
  if (parameter.description.includes(added) || description.length > LONGEST_DESCRIPTION) return undefined;
  return {
    label: `Add “${added}” to the description of ${parameter.name}`,
    entity: { kind: 'tool', id: tool.id },
    changes: { version: tool.version, parameters: parameters.map((one) => (one === parameter ? { ...one, description } : one)) },
  };
}

const asking = ({ id, version }: ObservedTool): InsightDraft['fix'] => ({
  label: 'Let clients ask a person for missing arguments',
  entity: { kind: 'tool', id },
  changes: { version, ask_missing: true },
});

async function readParameters({ store }: Platform, names: readonly string[]): Promise<ReadonlyMap<string, readonly Parameter[]>> {
  const { tools: table } = store.tables;
  if (names.length === 0) return new Map();
  const rows = await store.db
    .select({ name: table.name, parameters: table.parameters })
    .from(table)
    .where(inArray(table.name, [...names]));
  return new Map(rows.map(({ name, parameters }) => [name, parameters]));
}
