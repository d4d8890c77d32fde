import type { Layer } from './layers.ts';

export interface Arguments {
  /** Parts of paths. */
  readonly filters: readonly string[];
  /** A commit: what differs from it has to be tested. Null: everything. */
  readonly since: string | null;
  readonly layer: Layer;
  /** Options of `bun test`. */
  readonly flags: readonly string[];
}

/**
 * `[path …] [--changed[=COMMIT]] [--daily | --full] [options of bun test]`. What a path names runs in every environment that it has
 * tests for; everything runs with `CI=true`.
 */
export function parseArguments(args: readonly string[], env: Readonly<Record<string, string | undefined>>): Arguments {
  const layers = new Map<string, Layer>([
    ['--daily', 'daily'],
    ['--full', 'full'],
  ]);
  const mine = (arg: string) => layers.has(arg) || arg === '--changed' || arg.startsWith('--changed=');
  const others = args.filter((arg) => !mine(arg));
  const flags_at = others.findIndex((arg) => arg.startsWith('-'));
  const filters = flags_at < 0 ? others : others.slice(0, flags_at);
  const changed = args.findLast((arg) => arg === '--changed' || arg.startsWith('--changed='));
  const wanted = args.findLast((arg) => layers.has(arg)) ?? '';
  const whole = ['1', 'true'].includes(env['CI'] ?? '') || filters.length > 0;
  return {
    filters,
    since: changed === undefined ? null : (changed.split('=')[1] ?? 'HEAD'),
    layer: layers.get(wanted) ?? (whole ? 'full' : 'daily'),
    flags: flags_at < 0 ? [] : others.slice(flags_at),
  };
}
