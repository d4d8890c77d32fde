import { createKeyring } from '#core/lib/secrets.ts';
import { keysReport, type KeyUse, secretFaults } from '#core/versions/keys.ts';
import { rewrapSecrets } from '#core/versions/rewrap.ts';
import type { SealedStore } from '#core/versions/sealed-records.ts';
import type { Env } from '#core/process/env.ts';
import type { Store } from '#core/store/store.ts';
import { type Command, type Terminal, UsageError } from './command.ts';
import { openDatabase, readEnvironment, withApp } from './open.ts';

export const keys: Command = {
  usage: 'keys status|rewrap',
  summary: 'Count what each encryption key still encrypts; encrypt everything with the first key',
  words: 1,
  run({ positionals }, terminal) {
    if (positionals[0] === 'status') return status(terminal);
    if (positionals[0] === 'rewrap') return rewrap(terminal);
    throw new UsageError('Usage: sluice keys status|rewrap');
  },
};

async function status(terminal: Terminal): Promise<number> {
  const { env } = readEnvironment(terminal);
  const store = await openDatabase(env);
  try {
    return await report(openingVault(env, store), terminal);
  } finally {
    await store.close();
  }
}

function rewrap(terminal: Terminal): Promise<number> {
  return withApp(terminal, async (app) => {
    const { entities, active_snapshot } = await rewrapSecrets(app);
    terminal.out(`Re-encrypted: ${entities} records${active_snapshot ? ' and the active snapshot' : ''}.\n\n`);
    return report(app, terminal);
  });
}

/** Opens secrets with the keys of the environment. It seals nothing, so it needs neither a fingerprint key nor a whole app. */
export const openingVault = (env: Env, store: Store): SealedStore => ({
  store,
  keyring: createKeyring(env.SVC_ENCRYPTION_KEY, new Uint8Array(32)),
});

async function report(vault: SealedStore, { out, err }: Terminal): Promise<number> {
  const head = ['key', 'in SVC_ENCRYPTION_KEY', 'records', 'active snapshot', 'snapshots', 'history', ''];
  const rows = (await keysReport(vault)).map((use) => [
    use.key_id,
    use.current ? 'first' : use.configured ? 'yes' : 'no',
    String(use.entities),
    use.active_snapshot ? 'yes' : 'no',
    String(use.snapshots),
    String(use.history),
    verdict(use),
  ]);
  const widths = head.map((_, column) => Math.max(...[head, ...rows].map((row) => row[column]?.length ?? 0)));
  for (const row of [head, ...rows])
    out(
      `${row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd()}\n`,
    );
  const faults = await secretFaults(vault);
  for (const fault of faults) err(`\n${fault}\n`);
  return faults.length === 0 ? 0 : 1;
}

function verdict({ current, configured, removable, snapshots, history }: KeyUse): string {
  if (current) return 'encrypts new writes';
  if (!removable) return configured ? 'needed until `keys rewrap`' : 'missing: the server does not start';
  const lost = snapshots + history > 0 ? '; older snapshots and history that use it cannot be restored without it' : '';
  return `${configured ? 'can be removed' : 'not needed to start'}${lost}`;
}
