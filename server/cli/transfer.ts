import { readFile } from 'node:fs/promises';
import type { RawInput } from '#core/contract/index.ts';
import { AppError } from '#core/errors.ts';
import { run } from '#core/control-plane/run.ts';
import { type Command, UsageError, writeOut } from './command.ts';
import { operatorCall, withApp } from './open.ts';

export const exportConfiguration: Command = {
  usage: 'export [--out FILE]',
  summary: 'Write the configuration as JSON, without secrets',
  options: { out: { type: 'string' } },
  run: ({ values }, terminal) =>
    withApp(
      terminal,
      async (app) => {
        const text = `${JSON.stringify(await run(app, 'transfer.export', {}, operatorCall()), null, 2)}\n`;
        if (typeof values['out'] === 'string') await writeOut(values['out'], text);
        else terminal.out(text);
        return 0;
      },
      // An export has no secrets, so a lost encryption key does not prevent it.
      { opens_secrets: false },
    ),
};

const MODES = ['merge', 'overwrite'] as const;

export const importConfiguration: Command = {
  usage: 'import <file> [--mode merge|overwrite] [--server-config] [--dry-run]',
  summary: 'Import an exported configuration, all of it or nothing',
  options: { mode: { type: 'string' }, 'server-config': { type: 'boolean' }, 'dry-run': { type: 'boolean' } },
  words: 1,
  async run({ positionals: [file = ''], values }, terminal) {
    const mode = MODES.find((known) => known === (values['mode'] ?? 'merge'));
    if (mode === undefined) throw new UsageError('--mode must be merge or overwrite.');
    const document = await readDocument(file);
    const options = {
      mode,
      dry_run: values['dry-run'] === true,
      include_server_config: values['server-config'] === true,
    };
    return withApp(
      terminal,
      async (app) => {
        const input = { ...document, ...options } as RawInput<'transfer.import'>;
        const report = await run(app, 'transfer.import', input, operatorCall());
        terminal.out(`${JSON.stringify(report, null, 2)}\n`);
        return report.errors.length === 0 ? 0 : 1;
      },
      { create: true },
    );
  },
};

async function readDocument(file: string): Promise<Record<string, unknown>> {
  const text = await readFile(file, 'utf8').catch((cause: unknown) => {
    throw new AppError('not_found', `The file ${file} cannot be read.`, { cause });
  });
  try {
    const document = JSON.parse(text) as unknown;
    if (typeof document === 'object' && document !== null && !Array.isArray(document)) return document as Record<string, unknown>;
  } catch {
    // Reported below.
  }
  throw new AppError('bad_request', `The file ${file} is not an exported configuration.`);
}
