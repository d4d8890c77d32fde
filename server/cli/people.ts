import type { ControlPlane } from '#core/control-plane/control-plane.ts';
import { asc, eq } from 'drizzle-orm';
import type { RawInput } from '#core/contract/index.ts';
import { ROLES, type Role } from '#core/contract/roles.ts';
import { AppError } from '#core/errors.ts';
import { canSignIn, type PersonRow } from '#core/identity/account.ts';
import { run } from '#core/control-plane/run.ts';
import { type Arguments, type Command, type Terminal, UsageError } from './command.ts';
import { operatorCall, withApp } from './open.ts';

const USAGE =
  'people list|add|invite|set|remove [username] [--role ROLE] [--name NAME] [--email ADDRESS] [--groups A,B] [--enable] [--disable]';

type Draft = Omit<RawInput<'people.create'>, 'username'>;
type Verb = (app: ControlPlane, username: string, draft: Draft, terminal: Terminal) => Promise<void>;

export const people: Command = {
  usage: USAGE,
  summary: 'List, add, invite, change or remove people who sign in; `set ada --role owner --enable` brings an owner back',
  options: {
    role: { type: 'string' },
    name: { type: 'string' },
    email: { type: 'string' },
    groups: { type: 'string' },
    enable: { type: 'boolean' },
    disable: { type: 'boolean' },
  },
  words: [1, 2],
  run(args, terminal) {
    const [word = '', username] = args.positionals;
    const draft = toDraft(args);
    if (word === 'list' && username === undefined && Object.keys(draft).length === 0) return withApp(terminal, list(terminal));
    const verb = Object.hasOwn(VERBS, word) ? VERBS[word] : undefined;
    if (verb === undefined || username === undefined) throw new UsageError(`Usage: sluice ${USAGE}`);
    return withApp(terminal, async (app) => {
      await verb(app, username, draft, terminal);
      return 0;
    });
  },
};

const VERBS: Readonly<Record<string, Verb>> = {
  async add(app, username, draft, terminal) {
    const { id } = await run(app, 'people.create', { ...draft, username }, operatorCall());
    terminal.out(`${username} was added. ${await invitation(app, id)}`);
  },
  async invite(app, username, _, terminal) {
    const { id } = await personNamed(app, username);
    terminal.out(await invitation(app, id));
  },
  async set(app, username, draft, terminal) {
    const { id } = await personNamed(app, username);
    if (Object.keys(draft).length === 0)
      throw new UsageError('Nothing to change. Add --role, --groups, --enable or another option.');
    const { role, enabled, groups } = await run(app, 'people.update', { ...draft, id }, operatorCall());
    const of_groups = groups.length === 0 ? '' : `, groups ${groups.join(', ')}`;
    terminal.out(`${username}: role ${role}, ${enabled ? 'enabled' : 'disabled'}${of_groups}.\n`);
  },
  async remove(app, username, _, terminal) {
    const { id } = await personNamed(app, username);
    await run(app, 'people.delete', { id }, operatorCall());
    terminal.out(`${username} was removed.\n`);
  },
};

function toDraft({ values }: Arguments): Draft {
  const { role, name, email, groups, enable, disable } = values;
  const known = ROLES.find((one) => one === role);
  if (role !== undefined && known === undefined) throw new UsageError(`--role must be one of ${ROLES.join(', ')}.`);
  if (enable === true && disable === true) throw new UsageError('--enable and --disable exclude each other.');
  return {
    ...(known === undefined ? {} : { role: known satisfies Role }),
    ...(typeof name === 'string' ? { display_name: name } : {}),
    ...(typeof email === 'string' ? { email } : {}),
    ...(typeof groups === 'string' ? { groups: groups.split(',').flatMap((group) => group.trim() || []) } : {}),
    ...(enable === true || disable === true ? { enabled: enable === true } : {}),
  };
}

const list = (terminal: Terminal) => async (app: ControlPlane) => {
  const table = app.store.tables.people;
  const rows = await app.store.db.select().from(table).orderBy(asc(table.username));
  const columns = rows.map((row) => [row.username, row.role, stateOf(row), row.last_seen_at ?? 'never', row.groups.join(', ')]);
  const head = ['username', 'role', 'state', 'last seen', 'groups'];
  const widths = head.map((word, n) => Math.max(word.length, ...columns.map((column) => column[n]?.length ?? 0)));
  for (const line of [head, ...columns])
    terminal.out(
      `${line
        .map((cell, n) => cell.padEnd(widths[n] ?? 0))
        .join('  ')
        .trimEnd()}\n`,
    );
  return 0;
};

function stateOf(person: PersonRow): string {
  if (!person.enabled) return 'disabled';
  if (!canSignIn(person)) return 'invited';
  return person.totp_enabled ? 'two factors' : 'enabled';
}

async function personNamed(app: ControlPlane, username: string): Promise<PersonRow> {
  const table = app.store.tables.people;
  const [row] = await app.store.db.select().from(table).where(eq(table.username, username));
  if (row === undefined)
    throw new AppError('not_found', 'There is no person with this username. `people list` shows all of them.');
  return row;
}

async function invitation(app: ControlPlane, id: string): Promise<string> {
  const { invite_url, expires_at } = await run(app, 'people.invite', { id }, operatorCall());
  return `This link sets the password. It works once, until ${expires_at}:\n${invite_url}\n`;
}
