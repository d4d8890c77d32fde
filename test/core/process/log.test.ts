import { expect, test } from 'bun:test';
import { fileURLToPath } from 'node:url';
import { EnvError } from '#core/process/env.ts';
import { printStartError } from '#core/process/start-error.ts';

test('a program that cannot start says why as text on a terminal, and as one JSON line elsewhere', () => {
  const printed = (error: unknown, isTTY: boolean) => {
    let text = '';
    printStartError('host', error, { isTTY, write: (more: string) => (text += more) });
    return text;
  };
  const environment = new EnvError(['SVC_PORT must be a number.', 'SVC_BIND is empty.']);
  expect(printed(environment, true)).toBe(
    'The environment has 2 errors:\n  - SVC_PORT must be a number.\n  - SVC_BIND is empty.\n',
  );
  expect(JSON.parse(printed(environment, false))).toMatchObject({
    level: 'ERROR',
    source: 'host',
    message: 'The host cannot start',
    errors: environment.faults,
  });
  const refused = new Error('Failed query: select 1\nparams: secret', { cause: new Error('connection refused\nby the server') });
  expect(printed(refused, true)).toBe('The host cannot start: Failed query: select 1: connection refused\nby the server\n');
  const [line = '', ...rest] = printed(refused, false).split('\n');
  expect([JSON.parse(line), rest]).toMatchObject([{ reason: 'Failed query: select 1: connection refused\nby the server' }, ['']]);
});

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

/** A program with a log, as all of ours are. */
async function programThat(does: string) {
  const text = `
    const { createLog, logUnhandled, toStream } = await import('#core/process/log.ts');
    const log = createLog('INFO', toStream(process.stdout));
    logUnhandled(log);
    setInterval(() => undefined, 1_000);
    ${does}
  `;
  const program = Bun.spawn([process.execPath, '-e', text], { cwd: ROOT, stdout: 'pipe', stderr: 'inherit' });
  const lines = (await new Response(program.stdout).text()).split('\n').filter((line) => line !== '');
  return { code: await program.exited, lines: lines.map((line) => JSON.parse(line) as Record<string, unknown>) };
}

test('a program ends after an exception that nobody caught, with its log line and an exit code', async () => {
  const { code, lines } = await programThat(`
    setTimeout(() => {
      for (let n = 0; n < 500; n++) log.info('before', { text: 'x'.repeat(1_000) });
      throw new Error('of a listener');
    });
    setTimeout(() => log.info('after'), 5_000);
  `);
  expect(code).toBe(1);
  expect(lines).toHaveLength(501);
  expect(lines.at(-1)).toMatchObject({ level: 'ERROR', message: 'the program ends after a fault' });
  expect(String(lines.at(-1)?.['reason'])).toContain('of a listener');
});

test('a program goes on after a promise that nobody waited for, and says so', async () => {
  const { code, lines } = await programThat(`
    void Promise.reject(new Error('of nobody'));
    setTimeout(() => { log.info('after'); process.exit(0); }, 50);
  `);
  expect([code, lines.map(({ message }) => message)]).toEqual([0, ['unhandled fault', 'after']]);
});

test('a program goes on when whoever read its log has gone', async () => {
  const text = `
    const { createLog, logUnhandled, toStream } = await import('#core/process/log.ts');
    const log = createLog('INFO', toStream(process.stdout));
    logUnhandled(log);
    let left = 50;
    setInterval(() => { log.info('line'); if (--left === 0) process.exit(7); }, 5);
  `;
  const program = Bun.spawn([process.execPath, '-e', text], { cwd: ROOT, stdout: 'pipe', stderr: 'pipe' });
  await program.stdout.cancel();
  expect(await program.exited).toBe(7);
});
