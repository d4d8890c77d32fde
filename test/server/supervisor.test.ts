import { afterEach, expect, test } from 'bun:test';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLog, type LogLine } from '#core/process/log.ts';
import { type Supervised, supervise } from '#server/supervisor.ts';
import { until } from '#test/support/until.ts';

const directory = mkdtempSync(join(tmpdir(), 'sluice-'));
let program: Supervised | undefined;
afterEach(async () => {
  await program?.stop(1_000);
  rmSync(directory, { recursive: true, force: true });
});

test('a program that ended and could not be started again for a time comes back', async () => {
  const path = join(directory, 'program');
  writeFileSync(path, '#!/bin/sh\nexec sleep 60\n', { mode: 0o755 });
  const lines: LogLine[] = [];
  program = supervise(
    'program',
    [path],
    {},
    createLog('DEBUG', (line) => lines.push(line)),
  );
  const first = program.pid() ?? 0;
  renameSync(path, `${path}.away`);
  process.kill(first, 'SIGKILL');
  await until(() => lines.filter(({ message }) => message.startsWith('program could not be started')).length >= 2);
  expect(program.pid()).toBeNull();
  renameSync(`${path}.away`, path);
  await until(() => program?.pid() != null);
  expect(program.pid()).not.toBe(first);
});
