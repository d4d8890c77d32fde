import type { Platform } from '#core/platform/platform.ts';
import { and, inArray, lt, sql } from 'drizzle-orm';
import type { CallDetail } from '#core/contract/observe/calls.ts';
import { LOGGED_ARGUMENTS, type LoggedArguments, LONGEST_SEALED } from '#core/contract/observe/logged-arguments.ts';
import { readSettings } from '#core/settings/settings.ts';
import { isPerson } from '#core/context/roles.ts';
import { createSealing } from '#core/lib/sealing.ts';
import type { Actor } from '#core/context/context.ts';

type Shown = Pick<CallDetail, 'arguments_state' | 'arguments' | 'arguments_masked' | 'arguments_left_out'>;

/** An entry of the request log with the arguments that its host encrypted. Null: there are none; empty: they were removed. */
interface Entry {
  readonly name: string;
  readonly timestamp: string;
  readonly sealed: string | null;
}

/** The arguments of a call, for signed-in people who may edit tools. Tokens cannot read them. */
export async function shownArguments(app: Platform, actor: Actor | null, { name, timestamp, sealed }: Entry): Promise<Shown> {
  const without = (arguments_state: Shown['arguments_state']): Shown => ({
    arguments_state,
    arguments: null,
    arguments_masked: [],
    arguments_left_out: [],
  });
  if (sealed === null) return without('not_logged');
  // Expired arguments are removed some minutes later.
  if (sealed === '' || timestamp < (await loggedSince(app))) return without('removed');
  if (!isPerson(actor, 'editor')) return without('hidden');
  const logged = createSealing<LoggedArguments>(app.env.SVC_ENCRYPTION_KEY, LOGGED_ARGUMENTS, LONGEST_SEALED).open(sealed);
  if (logged === null || logged.called !== name) return without('key_missing');
  return {
    arguments_state: 'logged',
    arguments: { ...logged.arguments },
    arguments_masked: [...logged.masked],
    arguments_left_out: [...logged.left_out],
  };
}

const HOUR_MS = 3_600_000;
const loggedSince = async (app: Platform): Promise<string> => {
  const { log_arguments_hours } = (await readSettings(app)).settings;
  return new Date(app.clock().getTime() - log_arguments_hours * HOUR_MS).toISOString();
};

/** Rows per transaction, which limits how long other writers wait. */
const ROWS_AT_ONCE = 1_000;

/** Removes arguments older than `log_arguments_hours`. The calls stay. */
export async function forgetArguments(app: Platform): Promise<void> {
  const { request_logs: table } = app.store.tables;
  const since = await loggedSince(app);
  // The condition of the partial index, in the same form.
  const due = and(sql`arguments > ''`, lt(table.timestamp, since));
  for (;;) {
    const removed = await app.store.write((tx) => {
      const oldest = tx.select({ id: table.id }).from(table).where(due).limit(ROWS_AT_ONCE);
      return tx.update(table).set({ arguments: '' }).where(inArray(table.id, oldest)).returning({ id: table.id });
    });
    if (removed.length < ROWS_AT_ONCE || app.life.ending) return;
    await app.sleep(1);
  }
}
