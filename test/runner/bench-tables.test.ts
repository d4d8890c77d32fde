import { expect, test } from 'bun:test';
import { type Figures, toSection } from '#test/bench/calls.ts';
import { cellsOf, type Gate, table } from '#test/bench/report.ts';
import { deployGates, swapGates } from '#test/bench/scripts.ts';

const NAMES = ['Sluice', 'Toolbox', 'driver alone'];
const COLUMNS: Readonly<Record<string, string>> = {
  'calls/s': 'calls/s',
  p50: 'p50 ms',
  p99: 'p99 ms',
  'CPU per call of all programs': 'CPU s per 10 000',
};

/** Figures of which each is different. */
function measured(): Map<string, Figures[]> {
  const found = new Map<string, Figures[]>();
  let n = 1;
  for (const key of ['lookup', 'range', 'stats'])
    for (const label of [1, 16, 64, 'paced'])
      for (const name of NAMES) {
        const [rps, p50_ms, p99_ms, cpu_s, host_cpu_s] = Array.from({ length: 5 }, () => 100 + 7 * n++) as [
          number,
          number,
          number,
          number,
          number,
        ];
        found.set(`${key} ${label} ${name}`, [{ rps, p50_ms, p99_ms, cpu_s, host_cpu_s, errors: 0 }]);
      }
  return found;
}

test('each target of tools/call is measured by the column that it names', () => {
  const { text, gates } = toSection(measured(), NAMES);
  const parts = new Map(
    text.split('### ').map((part): [string, string] => [part.slice(0, part.indexOf('\n')), part.slice(part.indexOf('|'))]),
  );
  const compared: Gate[] = [];
  for (const gate of gates) {
    const [, title, label, what, peer] = /^(.*), (?:c = (?=\d)|(?=paced))(\d+|paced)[^:]*: (.*) to (.*)$/.exec(gate.what) ?? [];
    const rows = cellsOf(parts.get(title ?? '') ?? '');
    const cellOf = (target: string, column: string) =>
      rows.find((cell) => cell('callers') === label && cell('target') === target)?.(column) ?? '';
    const own = what === 'CPU per call of the host' ? /\(host (.*)\)/.exec(cellOf('Sluice', 'CPU s per 10 000'))?.[1] : undefined;
    const column = COLUMNS[what ?? ''] ?? 'CPU s per 10 000';
    const ours = Number.parseFloat(own ?? cellOf('Sluice', column));
    const other = Number.parseFloat(peer === 'p50' ? cellOf('Sluice', 'p50 ms') : cellOf(peer ?? '', column));
    compared.push({ ...gate, measured: `${(ours / other).toFixed(2)} ×` });
  }
  expect(gates.length).toBeGreaterThan(10);
  expect(gates).toEqual(compared);
});

test('the targets of deploys read their columns by name, wherever they stand', () => {
  const rows = [
    ['1.5', 'SQLite, metadata SQLite', '10', '20'],
    ['99', 'SQLite, metadata SQLite', '500', '60'],
    ['98', 'SQLite, metadata SQLite', '1000', '25'],
    ['97', 'SQLite, metadata SQLite', '10000', '70'],
  ];
  const gates = deployGates(table(['deploy p50 ms', 'database', 'tools', 'deploy p95 ms'], rows));
  expect(gates.map(({ measured: found, met }) => [found, met])).toEqual([
    ['60.0 ms', false],
    ['1.25 ×', true],
    ['3.50 ×', false],
  ]);
  expect(() => deployGates(table(['tools', 'database', 'p95'], [['500', 'SQLite', '1']]))).toThrow('no column deploy p95 ms');
  const swaps = table(['sessions after', 'lost', 'sessions before', 'database', 'deploys'], [['6', '0', '5', 'sqlite', '50']]);
  expect(swapGates(swaps).map(({ met }) => met)).toEqual([true, false]);
});

test('what RESULTS.md calls met or missed is so', async () => {
  const text = await Bun.file(new URL('../bench/RESULTS.md', import.meta.url)).text();
  const [, targets = ''] = text.split('## Targets');
  const rows = cellsOf(targets.slice(0, targets.indexOf('\n## ')));
  expect(rows.length).toBeGreaterThan(20);
  for (const cell of rows) {
    const [, sign = '≤', limit = ''] = /^([≤≥])? ?([\d.]+)/.exec(cell('target')) ?? [];
    const value = Number.parseFloat(cell('measured'));
    const met = sign === '≥' ? value >= Number(limit) : value <= Number(limit);
    // A value between two that are written alike.
    if (value === Number(limit)) continue;
    expect([cell('what'), cell('')]).toEqual([cell('what'), met ? 'met' : '**missed**']);
  }
});
