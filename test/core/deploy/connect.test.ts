import { afterAll, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stdioCommand } from '#core/deploy/connect.ts';
import { withDevSecrets } from '#core/edge/dev-secrets.ts';
import { parseEnv } from '#core/process/env.ts';

const SVC_DATA_DIR = mkdtempSync(join(tmpdir(), 'sluice-stdio-'));
afterAll(() => rmSync(SVC_DATA_DIR, { recursive: true }));

const secretsOf = (more: Record<string, string>) =>
  stdioCommand(parseEnv('server', withDevSecrets({ SVC_ENV: 'dev', SVC_DATA_DIR, ...more })).env).secrets;

test('the command for standard input names the secrets that the program cannot find', () => {
  expect(secretsOf({})).toEqual([]);
  const SVC_ENCRYPTION_KEY = 'a-key-of-this-test-with-32-characters-or-more';
  expect(secretsOf({ SVC_ENCRYPTION_KEY })).toEqual(['SVC_ENCRYPTION_KEY']);
  expect(secretsOf({ SVC_OTLP_HEADERS: 'api-key=0123456789' })).toEqual(['SVC_OTLP_HEADERS']);
});
