import { expect, test } from 'bun:test';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

/** What a reader gets of a program that writes 4 MB and exits, and the program's exit code. */
async function readBy(reader: string, options = '') {
  const text = `
    const { exitAfterOutput } = await import('#core/process/exit.ts');
    for (let n = 0; n < 4_000; n++) process.stdout.write('x'.repeat(999) + '\\n');
    await exitAfterOutput(7, { ${options} });
  `;
  const shell = `set -o pipefail; "$0" -e "$1" | (${reader})`;
  const program = Bun.spawn(['bash', '-c', shell, process.execPath, text], { cwd: ROOT, stdout: 'pipe', stderr: 'inherit' });
  const read = (await new Response(program.stdout).text()).trim();
  return { read, code: await program.exited };
}

test('a reader that begins late gets everything', async () => {
  expect(await readBy('sleep 0.3; wc -l')).toEqual({ read: '4000', code: 7 });
});

test('a reader that does not read delays the exit up to the limit', async () => {
  const { read, code } = await readBy('sleep 1; wc -l', 'limit_ms: 50');
  expect(code).toBe(7);
  expect(Number(read)).toBeLessThan(4_000);
});

test('a reader that has gone does not keep the program', async () => {
  expect(await readBy('head -n 1 | wc -l')).toEqual({ read: '1', code: 7 });
});
