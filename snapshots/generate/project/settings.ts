import { existsSync } from 'node:fs';

// Bun reads .env by itself.
if (process.versions.bun === undefined && existsSync('.env')) process.loadEnvFile('.env');

const missing: string[] = [];

/** A setting that the environment may change. */
export function setting(name: string, fallback: string): string {
  return process.env[name] || fallback;
}

/** A secret: it has no other home than the environment. An unfilled line of .env is a missing one. */
export function secret(name: string): string {
  const text = process.env[name] || '';
  if (text === '') missing.push(name);
  return text;
}

/** Ends the program when a secret was asked for and is not there. */
export function demandSecrets(): void {
  if (missing.length === 0) return;
  console.error(`Set ${missing.join(', ')} in the environment or in .env; see .env.example.`);
  process.exit(1);
}
