import type { ControlPlane } from '#core/control-plane/control-plane.ts';
import { operations } from '#core/contract/index.ts';
import { AppError } from '#core/errors.ts';
import type { Context } from '#core/context/context.ts';
import { parseInput, run } from '#core/control-plane/run.ts';
import { readSettings } from '#core/settings/settings.ts';
import { hashPassword } from '#core/identity/passwords.ts';
import { changeAccount, type PersonRow } from '#core/identity/account.ts';
import { removeFactor } from '#core/identity/two-factor.ts';
import { type Command, UsageError } from './command.ts';
import { operatorCall, withApp } from './open.ts';
import { readPassword } from './password.ts';

export const resetPassword: Command = {
  usage: 'reset-password [--username NAME]',
  summary: 'Set a new password (prompted, or from standard input), end every session, and turn password sign-in on',
  options: { username: { type: 'string' } },
  run: ({ values }, terminal) =>
    withApp(terminal, async (app) => {
      const person = await personOf(app, values['username']);
      const password = await readPassword(terminal);
      parseInput(operations['auth.setup'], { username: person.username, password });
      const password_hash = await hashPassword(password);
      const { sessions_ended } = await changeAccount(operatorContext(app), person, async () => ({
        set: { password_hash },
        before: { username: person.username },
        after: { username: person.username, password_changed: true },
      }));
      terminal.out(`The password of ${person.username} was changed. ${ended(sessions_ended)}\n`);
      if (await turnPasswordsOn(app)) terminal.out('Signing in with a password is on again for everybody.\n');
      return 0;
    }),
};

export const resetTwoFactor: Command = {
  usage: 'reset-2fa [--username NAME]',
  summary: 'Turn two-factor authentication off, for a lost authenticator, and end every session',
  options: { username: { type: 'string' } },
  run: ({ values }, terminal) =>
    withApp(terminal, async (app) => {
      const person = await personOf(app, values['username']);
      if (!person.totp_enabled) {
        terminal.out(`Two-factor authentication of ${person.username} is already off.\n`);
        return 0;
      }
      const context = operatorContext(app);
      const { sessions_ended } = await changeAccount(context, person, (tx) => removeFactor(context, tx, person));
      terminal.out(
        `Two-factor authentication of ${person.username} is off. ${ended(sessions_ended)} Sign in and set it up again.\n`,
      );
      return 0;
    }),
};

/** Lets people sign in with a password while their provider fails. @returns false when password sign-in was on already. */
async function turnPasswordsOn(app: ControlPlane): Promise<boolean> {
  if ((await readSettings(app)).settings.password_sign_in) return false;
  await run(app, 'config.update', { password_sign_in: true }, operatorCall());
  return true;
}

const operatorContext = (app: ControlPlane): Context<ControlPlane> => ({ ...operatorCall(), app });
const ended = (count: number): string => (count === 1 ? 'One session ended.' : `${count} sessions ended.`);

/** The named person, or the only one. */
async function personOf(app: ControlPlane, username: string | boolean | undefined): Promise<PersonRow> {
  const people = await app.store.db.select().from(app.store.tables.people);
  if (people.length === 0) {
    throw new AppError('not_found', 'There is no person yet. Start the server and open its page to create the owner.');
  }
  if (username === undefined && people.length > 1) {
    throw new UsageError('There are several people. Add --username NAME; `people list` shows their names.');
  }
  const found = people.find((person) => username === undefined || person.username === username);
  if (found === undefined) throw new AppError('not_found', 'There is no person with this username.');
  return found;
}
