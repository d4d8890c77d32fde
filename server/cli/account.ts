import type { App } from '#core/app.ts';
import { operations } from '#core/contract/index.ts';
import { AppError } from '#core/errors.ts';
import { type Context, parseInput } from '#core/run.ts';
import { hashPassword } from '#core/lib/passwords.ts';
import { type AdminRow, changeAccount } from '#core/identity/account.ts';
import { removeFactor } from '#core/identity/two-factor.ts';
import type { Command } from './command.ts';
import { operatorCall, withApp } from './open.ts';
import { readPassword } from './password.ts';

export const resetPassword: Command = {
  usage: 'reset-password [--username NAME]',
  summary: 'Set a new password (prompted, or from standard input) and end every session',
  options: { username: { type: 'string' } },
  run: ({ values }, terminal) =>
    withApp(terminal, async (app) => {
      const admin = await administrator(app, values['username']);
      const password = await readPassword(terminal);
      parseInput(operations['auth.setup'], { username: admin.username, password });
      const password_hash = await hashPassword(password);
      const { sessions_ended } = await changeAccount(operatorContext(app), admin, async () => ({
        set: { password_hash },
        before: { username: admin.username },
        after: { username: admin.username, password_changed: true },
      }));
      terminal.out(`The password of ${admin.username} was changed. ${ended(sessions_ended)}\n`);
      return 0;
    }),
};

export const resetTwoFactor: Command = {
  usage: 'reset-2fa [--username NAME]',
  summary: 'Turn two-factor authentication off, for a lost authenticator, and end every session',
  options: { username: { type: 'string' } },
  run: ({ values }, terminal) =>
    withApp(terminal, async (app) => {
      const admin = await administrator(app, values['username']);
      if (!admin.totp_enabled) {
        terminal.out(`Two-factor authentication of ${admin.username} is already off.\n`);
        return 0;
      }
      const context = operatorContext(app);
      const { sessions_ended } = await changeAccount(context, admin, (tx) => removeFactor(context, tx, admin));
      terminal.out(
        `Two-factor authentication of ${admin.username} is off. ${ended(sessions_ended)} Sign in and set it up again.\n`,
      );
      return 0;
    }),
};

const operatorContext = (app: App): Context => ({ ...operatorCall(), app });
const ended = (count: number): string => (count === 1 ? 'One session ended.' : `${count} sessions ended.`);

/** There is one administrator; a name that is given must be theirs. */
async function administrator(app: App, username: string | boolean | undefined): Promise<AdminRow> {
  const admins = await app.store.db.select().from(app.store.tables.admins);
  if (admins.length === 0) {
    throw new AppError('not_found', 'There is no administrator yet. Start the server and open its page to create one.');
  }
  const found = admins.find((admin) => username === undefined || admin.username === username);
  if (found === undefined) throw new AppError('not_found', 'There is no administrator with this name.');
  return found;
}
