import { expect, test } from 'bun:test';
import type { ImportReport } from '#core/contract/transfer.ts';
import { jsonFaultLine } from '#ui/src/kernel/json.ts';
import { exportName, groupFaults, readExport, reportRows, toImport, writes } from '#ui/src/pages/transfer/transfer-file.ts';

test('a file that is no export is refused with what is wrong about it', () => {
  const refused = (text: string) => {
    const answer = readExport('a.json', text);
    return answer.ok ? '' : answer.reason;
  };
  expect(refused('{')).toContain('isn’t valid JSON');
  expect(refused('[]')).toContain('isn’t an export');
  expect(refused('{"a":1}')).toContain('“format” is missing');
  expect(refused('{"format":"other/2"}')).toContain('other/2');
  expect(refused('{"format":"sluice/1","tools":{}}')).toContain('“tools” must be a list');
  expect(refused(' '.repeat(16 * 1024 * 1024 + 1))).toContain('16.0 MiB');
});

test('a file that stops being JSON is refused with the line, whatever the mistake', () => {
  const faults: [string, number][] = [
    ['{\n "a": 1,\n "b" 2\n}', 3],
    ['{\n "a": }', 2],
    ['{"a": [1,\n2,\n]}', 3],
    ['{"a": "x\n"}', 1],
    ['[1\n}', 2],
    ['[1]\n\nx', 3],
    ['{"a": 1,\n\n', 3],
    ['\n[01]', 2],
    ['["\\x"]', 1],
    [`${'\n'.repeat(2_000)}"${'a'.repeat(1_000_000)}`, 2_001],
  ];
  for (const [text, line] of faults) {
    const answer = readExport('a.json', text);
    const place = line.toLocaleString('en');
    expect([text.slice(0, 40), answer.ok ? '' : answer.reason]).toEqual([
      text.slice(0, 40),
      `This file isn’t valid JSON (line ${place}). Choose an exported file.`,
    ]);
  }
  const whole = { a: [1, -2.5e3, 0, true, null, [], {}, 'é "q" \\ \n \u0001'], '': { b: '😀' } };
  for (const text of [JSON.stringify(whole), JSON.stringify(whole, null, 2), ' 1 ']) expect(jsonFaultLine(text)).toBeNull();
});

test('an export is counted, and sent with how it is to be taken', () => {
  const answer = readExport('shop.json', JSON.stringify({ format: 'sluice/1', tools: [{}, {}], server_config: {} }));
  if (!answer.ok) throw new Error(answer.reason);
  expect(answer.file).toMatchObject({ counts: { connections: 0, tools: 2 }, has_server_config: true });
  expect(toImport(answer.file, { mode: 'overwrite', include_server_config: true }, true)).toEqual({
    format: 'sluice/1',
    tools: [{}, {}],
    server_config: {},
    mode: 'overwrite',
    include_server_config: true,
    dry_run: true,
  });
  expect(exportName('sluice', '2026-11-21T10:00:00.000Z')).toBe('sluice-2026-11-21.json');
});

test('faults stand at their record, and only what the file concerns has a row', () => {
  const none = { connections: 0, tools: 0, resources: 0, prompts: 0, toolsets: 0, tests: 0, server_config: 0 };
  const report: ImportReport = {
    dry_run: true,
    batch_id: null,
    created: { ...none, tools: 2 },
    updated: { ...none, server_config: 1 },
    deleted: none,
    skipped: { ...none, tools: 1 },
    errors: [
      { entity_type: 'tool', name: 'a', index: 0, field: 'sql_query', message: 'one' },
      { entity_type: 'tool', name: 'b', index: 1, field: null, message: 'two' },
      { entity_type: 'tool', name: 'a', index: 0, field: 'name', message: 'three' },
    ],
    warnings: [],
    errors_truncated: false,
    needs_secrets: [],
  };
  expect(groupFaults(report.errors).map(({ name, faults }) => [name, faults.map(({ message }) => message)])).toEqual([
    ['a', ['one', 'three']],
    ['b', ['two']],
  ]);
  expect(reportRows(report).map(({ noun }) => noun)).toEqual(['tools', 'server_config']);
  expect(writes(report)).toBe(3);
});
