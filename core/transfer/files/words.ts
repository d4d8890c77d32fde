import { subjectOf } from '#core/contract/entities.ts';
import { labelsIn } from '#core/contract/marks.ts';
import { ServerConfigPatch } from '#core/contract/settings/config.ts';
import type { ImportChecks } from '#core/contract/transfer.ts';
import { diffLines, foldSame } from '#core/lib/text/line-diff.ts';
import type { EntityValues } from '#core/store/entity-table.ts';
import { canonical } from '#snapshots/format/canonical.ts';
import { SETTINGS_FILE } from './layout.ts';
import type { Plan, PlannedChange } from './plan.ts';

/** Longer values are cut in a plan. The file has the whole value. */
const LONGEST = 120;

/** The lines of a plan, for people. */
export function planLines(plan: Plan): string[] {
  const settings = Object.keys(plan.settings);
  return [
    ...plan.changes.flatMap(changeLines),
    ...(settings.length === 0
      ? []
      : [
          `~ ${SETTINGS_FILE}  changes ${settings.length === 1 ? 'a setting' : `${settings.length} settings`}`,
          ...fieldLines(ServerConfigPatch.entries, plan.settings_before, plan.settings),
        ]),
  ];
}

function changeLines(change: PlannedChange): string[] {
  const { action, record } = change;
  const { kind, schema } = record.room;
  if (action === 'delete') return [`- ${kind} ${plain(record.name)}  is deleted on the server`];
  const path = plain(change.record.path);
  if (action === 'create') return [`+ ${path}  creates the ${kind} ${plain(record.name)}`];
  return [
    `~ ${path}  changes the ${kind} ${plain(record.name)}`,
    ...fieldLines(schema.entries, change.before, withDerived(change)),
  ];
}

/** Computed fields that the file omits do not count as changes. */
const withDerived = ({ record: { room, values }, before }: Extract<PlannedChange, { action: 'update' }>): EntityValues => ({
  ...values,
  ...Object.fromEntries(room.derived.filter((name) => values[name] === null).map((name) => [name, before[name]])),
});

/** The differing fields. Multi-line texts are shown as removed and added lines. */
function fieldLines(entries: Parameters<typeof labelsIn>[0], before: EntityValues, after: EntityValues): string[] {
  const labels: Readonly<Record<string, string>> = { connection: 'Connection', ...labelsIn(entries) };
  return Object.keys(after).flatMap((name) => {
    const [old, now] = [before[name], after[name]];
    if (canonical(old) === canonical(now)) return [];
    const label = labels[name] ?? name;
    const lines = [old, now].some((value) => typeof value === 'string' && value.includes('\n'));
    if (!lines && short(old).length + short(now).length <= LONGEST) return [`    ${label}: ${short(old)} → ${short(now)}`];
    return [`    ${label}:`, ...foldSame(diffLines(text(old), text(now)), 1).map(diffLine)];
  });
}

type Folded = ReturnType<typeof foldSame<ReturnType<typeof diffLines>[number]>>[number];
const SIGNS = { same: ' ', removed: '-', added: '+' } as const;

const diffLine = (line: Folded): string =>
  line.kind === 'fold'
    ? `      … ${line.count === 1 ? '1 equal line' : `${line.count} equal lines`}`
    : `      ${SIGNS[line.kind]} ${plain(line.text)}`;

const short = (value: unknown): string => (value === undefined ? 'not set' : plain(JSON.stringify(value)));
const text = (value: unknown): string =>
  value === null || value === undefined ? '' : typeof value === 'string' ? value : JSON.stringify(value, null, 2);

/** Text of a server for a terminal, without control characters. */
export const plain = (value: string): string => value.replaceAll(/[\p{Cc}\p{Cf}]/gu, (sign) => (sign === '\t' ? sign : '\uFFFD'));

const counted = (count: number, one: string, many = `${one}s`): string => `${count} ${count === 1 ? one : many}`;

export function planSummary({ changes, settings, unchanged }: Plan): string {
  const count = (action: PlannedChange['action']) => changes.filter((change) => change.action === action).length;
  const numbers = [`${count('create')} to create`, `${count('update')} to change`, `${count('delete')} to delete`];
  const others = Object.keys(settings).length === 0 ? [] : [`${counted(Object.keys(settings).length, 'setting')} to change`];
  return `${[...numbers, ...others].join(', ')}, ${unchanged} unchanged.`;
}

/** Results of lint and tests, one per line: notes, and faults that need fixing. */
export function checkLines({ findings, problems, tests }: ImportChecks): { readonly notes: string[]; readonly faults: string[] } {
  const failed = tests.results.filter(({ status }) => status === 'failed');
  const skipped = tests.results.filter(({ status }) => status === 'skipped');
  const testLine = ({ name, owner, failures }: ImportChecks['tests']['results'][number]) =>
    plain(`${subjectOf(owner.kind, owner.name)}, test ${JSON.stringify(name)}: ${failures.join(' ')}`);
  return {
    notes: [
      ...findings
        .filter(isSerious)
        .map(({ rule, severity, entity: { kind, name }, message }) =>
          plain(`! ${subjectOf(kind, name)}: ${message} (${severity}: ${rule})`),
        ),
      ...skipped.map((result) => `! ${testLine(result)} (skipped)`),
    ],
    faults: [...problems.map(plain), ...failed.map(testLine)],
  };
}

/** Advice is only counted, because the UI shows it at its field. */
const isSerious = ({ severity }: ImportChecks['findings'][number]): boolean => severity !== 'info';

/** Empty when lint found nothing and no test ran. */
export function checksSummary({ findings, tests: { passed, failed, skipped, results } }: ImportChecks): string[] {
  const serious = findings.filter(isSerious).length;
  const lint = `Lint: ${counted(serious, 'warning')}, ${counted(findings.length - serious, 'suggestion')}.`;
  const tests = `Tests: ${passed} passed, ${failed} failed, ${skipped} skipped.`;
  return [...(findings.length === 0 ? [] : [lint]), ...(results.length === 0 ? [] : [tests])];
}
