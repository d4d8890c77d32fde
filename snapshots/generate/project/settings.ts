import { existsSync } from 'node:fs';

// Bun loads .env automatically.
if (process.versions.bun === undefined && existsSync('.env')) process.loadEnvFile('.env');

const missing: string[] = [];

/** A setting with an environment variable that overrides it. */
export function setting(name: string, fallback: string): string {
  return process.env[name] || fallback;
}

/** A secret, which comes only from the environment. An empty line in .env counts as missing. */
export function secret(name: string): string {
  const text = process.env[name] || '';
  if (text === '') missing.push(name);
  return text;
}

/** Ends the program if required secrets are missing. */
export function demandSecrets(): void {
  if (missing.length === 0) return;
  console.error(`Set ${missing.join(', ')} in the environment or in .env; see .env.example.`);
  process.exit(1);
}
