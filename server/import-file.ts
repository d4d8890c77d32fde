import type { ControlPlane } from '#core/control-plane/control-plane.ts';
import { readFile } from 'node:fs/promises';
import type { RawInput } from '#core/contract/index.ts';
import { EnvError } from '#core/process/env.ts';
import { AppError } from '#core/errors.ts';
import { run } from '#core/control-plane/run.ts';
import { systemRequest } from '#core/context/context.ts';

/** Imports the file that `SVC_IMPORT_FILE` names; existing records stay. Throws EnvError with every fault of the file. */
export async function importFile(app: ControlPlane): Promise<void> {
  const { SVC_IMPORT_FILE: file } = app.env;
  if (file === null) return;
  const input = await readExport(file);
  // Servers that start together may write the same names: the second attempt finds those of the other server.
  const { created, skipped, warnings, needs_secrets } = await importOnce(app, input)
    .catch((error: unknown) => {
      if (error instanceof AppError && error.reason === 'conflict') return importOnce(app, input);
      throw error;
    })
    .catch((error: unknown) => {
      if (!(error instanceof AppError)) throw error;
      const faults = error.errors.map(({ field, message }) => `${field}: ${message}`);
      throw new EnvError((faults.length === 0 ? [error.detail] : faults).map((fault) => `SVC_IMPORT_FILE, ${fault}`));
    });
  app.log.info('file imported', { created, skipped });
  for (const { entity_type, name, message } of warnings) app.log.warning('import file', { entity_type, name, reason: message });
  for (const { connection, fields } of needs_secrets) app.log.warning('connection needs its secrets', { connection, fields });
}

const importOnce = (app: ControlPlane, input: RawInput<'transfer.import'>) =>
  run(app, 'transfer.import', { ...input, mode: 'merge', dry_run: false, include_server_config: false }, systemRequest('start'));

async function readExport(file: string): Promise<RawInput<'transfer.import'>> {
  const text = await readFile(file, 'utf8').catch(() => {
    throw new EnvError(['SVC_IMPORT_FILE names a file that cannot be read.']);
  });
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as RawInput<'transfer.import'>;
  } catch {
    // Reported below.
  }
  throw new EnvError(['SVC_IMPORT_FILE names a file that is not a JSON object.']);
}
