import { processEnvironment } from '#core/process/env.ts';
import { exitAfterOutput } from '#core/process/exit.ts';
import { runCli } from './cli/program.ts';

const code = await runCli(process.argv.slice(2), {
  environment: processEnvironment(),
  stdin: process.stdin,
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
});
// Exits explicitly, because a database that could not be opened may have left a socket open.
await exitAfterOutput(code);
