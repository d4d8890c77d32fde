import { constants } from 'node:fs';
import { withTimeout } from '#core/lib/with-timeout.ts';
import { access } from 'node:fs/promises';
import { dirname } from 'node:path';
import { type Env, EnvError, redisUrl } from '#core/process/env.ts';
import { AppError } from '#core/errors.ts';
import { createMemoryKv } from '#core/cluster/memory.ts';
import { createRedisKv } from '#core/cluster/redis.ts';
import { canSignIn, type PersonRow } from '#core/identity/account.ts';
import { secretFaults } from '#core/versions/keys.ts';
import { reasonOf } from '#core/process/log.ts';
import { type MigrationState, refusalOf, incompatibility } from '#core/store/migrate.ts';
import type { Store } from '#core/store/store.ts';
import type { Command } from './command.ts';
import { openingVault } from './keys.ts';
import { embeddedFile, openAsIs, readEnvironment } from './open.ts';

type Level = 'ok' | 'warning' | 'fault';
interface Finding {
  readonly level: Level;
  readonly subject: string;
  readonly sentence: string;
}

const REDIS_MS = 3_000;

export const check: Command = {
  usage: 'check',
  summary: 'Check the environment, the database and every secret, and report problems',
  async run(_, terminal) {
    let faults = 0;
    const say = ({ level, subject, sentence }: Finding) => {
      if (level === 'fault') faults += 1;
      terminal.out(`${level.padEnd(7)}  ${subject.padEnd(17)}  ${sentence}\n`);
    };
    try {
      const { env, warnings } = readEnvironment(terminal);
      say(ok('environment', `${env.SVC_ENV}; role ${env.SVC_ROLE}.`));
      for (const warning of warnings) say({ level: 'warning', subject: 'environment', sentence: warning });
      for (const finding of await checkFolders(env)) say(finding);
      say(await checkKv(env));
      for (const finding of await checkDatabase(env)) say(finding);
    } catch (error) {
      if (!(error instanceof EnvError)) throw error;
      for (const sentence of error.faults) say(fault('environment', sentence));
    }
    return faults === 0 ? 0 : 1;
  },
};

const ok = (subject: string, sentence: string): Finding => ({ level: 'ok', subject, sentence });
const fault = (subject: string, sentence: string): Finding => ({ level: 'fault', subject, sentence });

async function checkFolders(env: Env): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const name of ['SVC_DATA_DIR', 'SVC_GENERATED_DIR'] as const) {
    if (!(await writable(env[name]))) findings.push(fault('folders', `${name} names a folder that cannot be written to.`));
  }
  return findings.length > 0 ? findings : [ok('folders', 'The data and the generated folder can be written to.')];
}

/** Whether the folder, or the nearest existing one above it, is writable. */
async function writable(folder: string): Promise<boolean> {
  try {
    await access(folder, constants.W_OK | constants.X_OK);
    return true;
  } catch (error) {
    const missing = (error as NodeJS.ErrnoException).code === 'ENOENT' && dirname(folder) !== folder;
    return missing && writable(dirname(folder));
  }
}

async function checkKv(env: Env): Promise<Finding> {
  const subject = 'key-value store';
  if (env.SVC_KV === 'memory') return ok(subject, 'In memory, for a single server.');
  const kv = createRedisKv({
    url: redisUrl(env),
    space: env.SVC_AGENT_SERVICE_TOKEN,
    fallback: createMemoryKv(),
    onChange: () => undefined,
  });
  const answered = kv.increment('check', REDIS_MS).then(() => kv.up());
  const answers = await withTimeout(answered, REDIS_MS, () => false);
  await kv.close();
  return answers
    ? ok(subject, 'Redis answers.')
    : fault(subject, 'Redis does not answer, refuses the password, or refuses to run scripts.');
}

async function checkDatabase(env: Env): Promise<Finding[]> {
  const subject = 'metadata database';
  const where = embeddedFile(env) === null ? 'PostgreSQL' : 'The embedded file';
  let opened: { readonly store: Store; readonly migrations: MigrationState };
  try {
    opened = await openAsIs(env);
  } catch (error) {
    if (error instanceof AppError && error.code === 'not_found') return [{ level: 'warning', subject, sentence: error.detail }];
    return [fault(subject, `${where} cannot be opened: ${reasonOf(error)}.`)];
  }
  const { store, migrations } = opened;
  try {
    const unfit = incompatibility(migrations);
    const opens = ok(subject, `${where} opens.`);
    if (unfit !== null) return [opens, { level: refusalOf(migrations) === null ? 'warning' : 'fault', subject, sentence: unfit }];
    return [opens, ...(await checkContents(env, store))];
  } finally {
    await store.close();
  }
}

function checkPeople(count: number, owners: readonly PersonRow[]): Finding[] {
  if (count === 0) {
    const sentence = 'There are none yet. The first visitor becomes the owner.';
    return [{ level: 'warning', subject: 'people', sentence }];
  }
  if (owners.length === 0) return [fault('people', 'No owner can sign in. Run `people set NAME --role owner --enable`.')];
  const named = owners.map(({ username, totp_enabled }) => `${username} (second factor ${totp_enabled ? 'on' : 'off'})`);
  return [ok('people', `${count === 1 ? '1 person' : `${count} people`}; owners: ${named.join(', ')}.`)];
}

async function checkContents(env: Env, store: Store): Promise<Finding[]> {
  const { people, deployment } = store.tables;
  const faults = await secretFaults(openingVault(env, store));
  const all = await store.db.select().from(people);
  const owners = all.filter((person) => person.role === 'owner' && person.enabled && canSignIn(person));
  const [state] = await store.db.select().from(deployment);
  return [
    ...(faults.length === 0 ? [ok('secrets', 'All open.')] : faults.map((sentence) => fault('secrets', sentence))),
    ...checkPeople(all.length, owners),
    state?.active_version == null
      ? ok('deployment', 'Nothing is deployed yet.')
      : ok('deployment', `Snapshot ${state.active_version}; ${state.desired}.`),
  ];
}
