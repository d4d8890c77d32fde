import { row } from './figures.ts';

/** One line of the table of targets. */
export interface Gate {
  readonly what: string;
  readonly target: string;
  readonly measured: string;
  readonly met: boolean;
  /** What keeps it from being better. */
  readonly bound: string;
}

export interface Section {
  readonly title: string;
  /** Markdown. */
  readonly text: string;
  readonly gates: readonly Gate[];
}

export type Say = (text: string) => void;

export function table(head: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  return [row(head), row(head.map(() => '---')), ...rows.map(row)].join('\n');
}

/** The cells of a table, by the head of their column; throws for a column that the table does not have. */
export function cellsOf(text: string): ((column: string) => string)[] {
  const lines = text.split('\n').filter((line) => line.startsWith('|'));
  const [head = [], , ...rows] = lines.map((line) =>
    line
      .split('|')
      .map((cell) => cell.trim())
      .slice(1, -1),
  );
  return rows.map((cells) => (column) => {
    const cell = cells[head.indexOf(column)];
    if (cell === undefined) throw new Error(`The table has no column ${column}: ${head.join(', ')}`);
    return cell;
  });
}

/** A gate on a ratio: at least (`>=`) or at most (`<=`) so many times the other. */
export function ratioGate(what: string, ours: number, other: number, sign: '>=' | '<=', limit: number, bound: string): Gate {
  const ratio = ours / other;
  return {
    what,
    target: `${sign === '>=' ? '≥' : '≤'} ${limit} ×`,
    measured: Number.isFinite(ratio) ? `${ratio.toFixed(2)} ×` : 'not measured',
    met: sign === '>=' ? ratio >= limit : ratio <= limit,
    bound,
  };
}

/** A gate on a figure that must not be exceeded. */
export function limitGate(what: string, value: number, limit: number, unit: string, bound: string): Gate {
  return { what, target: `≤ ${limit} ${unit}`, measured: `${digits(value)} ${unit}`, met: value <= limit, bound };
}

export const digits = (value: number): string =>
  Number.isNaN(value) ? '–' : value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2);

export const median = (values: readonly number[]): number => {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor((sorted.length - 1) / 2)] ?? Number.NaN;
};

export function render(machine: string, notes: readonly string[], sections: readonly Section[]): string {
  const gates = sections.flatMap((section) => section.gates);
  const lines = gates.map(({ what, target, measured, met, bound }) => [
    what,
    target,
    measured,
    met ? 'met' : '**missed**',
    bound,
  ]);
  return [
    '# Measured',
    '',
    `One run of \`bun run bench\` on ${new Date().toISOString().slice(0, 10)}: ${machine}; the load, the database and the programs on the same machine.`,
    'Ratios within a run are worth more than milliseconds: the same machine varies by a third from run to run, and processor time per call least.',
    ...notes,
    '',
    '## Targets',
    '',
    table(['what', 'target', 'measured', '', 'what bounds it'], lines),
    ...sections.flatMap(({ title, text }) => ['', `## ${title}`, '', text]),
    '',
  ].join('\n');
}
