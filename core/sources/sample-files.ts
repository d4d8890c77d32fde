import { existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export const SAMPLE_FOLDER = 'demo-spreadsheets';

const DEPARTMENTS: readonly (readonly [name: string, head: string, monthly_budget: number])[] = [
  ['Logistics', 'Chidi', 900],
  ['Marketing', 'Dalia', 1_200],
  ['Support', 'Emil', 500],
];
const SUPPLIERS = ['Atlas Freight', 'Bright Print', 'Cable & Co', 'Delta Travel', 'Evergreen Office'];
const ROWS = 180;

/** Writes two spreadsheets with sample data, always the same, as CSV files in a separate folder. */
export function createSampleFiles(databases: string): void {
  const folder = join(databases, SAMPLE_FOLDER);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  write(folder, 'departments.csv', ['department,head,monthly_budget', ...DEPARTMENTS.map((row) => row.join(','))]);
  write(folder, 'expenses.csv', ['day,department,supplier,amount', ...Array.from({ length: ROWS }, (_, n) => expense(n))]);
}

function expense(n: number): string {
  const day = new Date(Date.UTC(2026, 0, 1 + n)).toISOString().slice(0, 10);
  const [department] = DEPARTMENTS[(n * 7) % DEPARTMENTS.length] ?? [];
  const amount = (20 + ((n * 37) % 190) * 0.75).toFixed(2);
  return [day, department, SUPPLIERS[(n * 3) % SUPPLIERS.length], amount].join(',');
}

/** Writes a draft and renames it, so that no incomplete file is ever read. An existing file stays. */
function write(folder: string, name: string, lines: readonly string[]): void {
  const file = join(folder, name);
  if (existsSync(file)) return;
  writeFileSync(`${file}.draft`, `${lines.join('\n')}\n`, { mode: 0o600 });
  renameSync(`${file}.draft`, file);
}
