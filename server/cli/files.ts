import { resolve } from 'node:path';
import { AppError } from '#core/errors.ts';
import { GATE_NAMES, type GateName } from '#core/contract/settings/deploy-gates.ts';
import type { ImportReport } from '#core/contract/transfer.ts';
import { checkRoot } from '#core/transfer/files/folder.ts';
import { type Local, readLocal } from '#core/transfer/files/local.ts';
import { faultAt, isEmptyPlan, type Plan, leftBy, planOf, toImport } from '#core/transfer/files/plan.ts';
import { faultLine, pullInto } from '#core/transfer/files/pull.ts';
import { type Configuration, fromExport } from '#core/transfer/files/records.ts';
import { readBase, writeBase } from '#core/transfer/files/state.ts';
import { checkLines, checksSummary, plain, planLines, planSummary } from '#core/transfer/files/words.ts';
import { configurationChecksum } from '#core/transfer/transfer-deletes.ts';
import { type Arguments, type Command, type Terminal, UsageError } from './command.ts';
import { openRemote, type Remote, REMOTE_OPTIONS, REMOTE_USAGE } from './remote.ts';

/** Something would change. */
const CHANGES = 2;

const FORCE = { force: { type: 'boolean' } } as const;
const PRUNE = { prune: { type: 'boolean' } } as const;

const sayLines = (say: Terminal['out'], lines: readonly string[]): void => lines.forEach((line) => say(`${line}\n`));

export const pull: Command = {
  usage: `pull <folder> [--prune] [--force] ${REMOTE_USAGE}`,
  summary: "Write a running server's configuration into a folder, one file per record, without secrets",
  options: { ...REMOTE_OPTIONS, ...FORCE, ...PRUNE },
  words: 1,
  async run(args, terminal) {
    const remote = await openRemote(args, terminal);
    const root = resolve(args.positionals[0] ?? '');
    await checkRoot(root, true);
    const { server } = await readServer(remote);
    const options = { force: args.values['force'] === true, prune: args.values['prune'] === true };
    const pulled = await pullInto(root, server, await readBase(root, remote.url), options);
    await writeBase(root, remote.url, server);
    const { created, updated, deleted, only_here, unchanged } = pulled;
    sayLines(terminal.out, [
      ...created.map((path) => `+ ${path}`),
      ...updated.map((path) => `~ ${path}`),
      ...deleted.map((path) => `- ${path}`),
      ...only_here.map((path) => `  ${path} is not on the server. Push creates it; pull --prune deletes the file.`),
      `${created.length} created, ${updated.length} changed, ${deleted.length} deleted, ${unchanged} unchanged.`,
    ]);
    return 0;
  },
};

export const plan: Command = {
  usage: `plan <folder> [--prune] [--force] ${REMOTE_USAGE}`,
  summary: 'Show what push would change, with what lint and tests find in it, without storing anything',
  options: { ...REMOTE_OPTIONS, ...FORCE, ...PRUNE },
  words: 1,
  async run(args, terminal) {
    const ready = await prepare(args, terminal);
    if (ready === null) return 1;
    if (isEmptyPlan(ready.plan)) return 0;
    const report = await sendPlan(ready, true, terminal);
    if (report === null) return 1;
    return sayChecks(report, terminal) ? CHANGES : 1;
  },
};

export const push: Command = {
  usage: `push <folder> [--prune] [--deploy] [--allow GATE[,GATE]] [--note TEXT] [--force] ${REMOTE_USAGE}`,
  summary: 'Apply a folder to a running server, all of it or nothing; --prune deletes what has no file',
  options: {
    ...REMOTE_OPTIONS,
    ...FORCE,
    ...PRUNE,
    deploy: { type: 'boolean' },
    note: { type: 'string' },
    allow: { type: 'string' },
  },
  words: 1,
  async run(args, terminal) {
    const { note, allow } = deployOptions(args);
    const ready = await prepare(args, terminal);
    if (ready === null) return 1;
    const { remote, root, plan: planned } = ready;
    if (!isEmptyPlan(planned)) {
      if ((await sendPlan(ready, false, terminal)) === null) return 1;
      terminal.out('Stored.\n');
    }
    await writeBase(root, remote.url, leftBy(planned, ready.server, (await readServer(remote)).server));
    if (args.values['deploy'] !== true) return 0;
    return deploy(remote, { note, allow }, terminal);
  },
};

interface Ready {
  readonly remote: Remote;
  readonly root: string;
  readonly local: Local;
  /** As the plan found it. */
  readonly server: Configuration;
  readonly plan: Plan;
  readonly checksum: string;
}

async function readServer({ call }: Remote): Promise<{ readonly server: Configuration; readonly checksum: string }> {
  const exported = await call('transfer.export', {});
  return { server: fromExport(exported), checksum: configurationChecksum(exported) };
}

/** Reads the folder and the server, and prints what differs. Null: it was refused, and the reasons were printed. */
async function prepare(args: Arguments, terminal: Terminal): Promise<Ready | null> {
  const remote = await openRemote(args, terminal);
  const root = resolve(args.positionals[0] ?? '');
  await checkRoot(root, false);
  const local = await readLocal(root);
  if (local.paths.length === 0) {
    throw new AppError('not_found', `There is no configuration in ${root}. Write one with sluice pull.`);
  }
  if (local.faults.length > 0) {
    sayLines(terminal.err, local.faults.map(faultLine));
    return null;
  }
  const { server, checksum } = await readServer(remote);
  const base = args.values['force'] === true ? null : await readBase(root, remote.url);
  const made = planOf(local, server, base, args.values['prune'] === true);
  sayLines(terminal.out, planLines(made));
  const kept = made.left.map(({ room, name }) => `  ${room.kind} ${plain(name)} has no file and stays. --prune deletes it.`);
  sayLines(terminal.out, [...kept, isEmptyPlan(made) ? 'Nothing to change.' : planSummary(made)]);
  if (made.conflicts.length === 0) return { remote, root, local, server, plan: made, checksum };
  sayLines(terminal.err, made.conflicts.map(faultLine));
  return null;
}

/** @throws UsageError for what only makes sense with a deploy, or names no gate. */
function deployOptions({ values }: Arguments): { readonly note: string | null; readonly allow: readonly GateName[] } {
  const { note, allow: named, deploy: wanted } = values;
  const allow = typeof named === 'string' ? named.split(',').map((name) => name.trim()) : [];
  const unknown = allow.find((name) => !GATE_NAMES.some((gate) => gate === name));
  if (unknown !== undefined) throw new UsageError(`There is no gate ${unknown}. Gates: ${GATE_NAMES.join(', ')}.`);
  if (allow.length > 0 && wanted !== true) throw new UsageError('--allow needs --deploy: only a deploy has gates.');
  return { note: typeof note === 'string' ? note : null, allow: GATE_NAMES.filter((gate) => allow.includes(gate)) };
}

/** Prints what lint and tests found. @returns whether nothing stands in the way. */
function sayChecks({ checks }: ImportReport, { out, err }: Terminal): boolean {
  if (checks === undefined) return true;
  const { problems, tests, blocking } = checks;
  const lines = checkLines(checks);
  sayLines(out, lines.notes);
  sayLines(err, lines.faults);
  sayLines(out, checksSummary(checks));
  if (blocking.length > 0) err(`A deploy would be blocked by ${blocking.join(' and ')}.\n`);
  return problems.length === 0 && tests.failed === 0 && blocking.length === 0;
}

/** Null: the server refused it, and the reasons were printed. */
async function sendPlan(
  { remote, local, plan: made, checksum }: Ready,
  dry_run: boolean,
  terminal: Terminal,
): Promise<ImportReport | null> {
  try {
    const report = await remote.call('transfer.import', toImport(made, local, checksum, dry_run));
    const faults = report.errors.map(({ entity_type, index, name, field, message }) => {
      const folder = local.records.get(`${entity_type}:${name ?? ''}`)?.room.folder ?? entity_type;
      return faultAt(made, local, [folder, index, field].filter((part) => part !== null).join('.'), message);
    });
    if (faults.length > 0) {
      sayLines(terminal.err, faults.map(faultLine));
      return null;
    }
    sayLines(terminal.out, [
      ...report.warnings.map(({ entity_type, name, message }) => `! ${entity_type} ${plain(name ?? '')}: ${plain(message)}`),
      ...report.needs_secrets.map(({ connection, fields }) =>
        connection === null
          ? `! The settings need ${fields.join(', ')}: set them in the UI.`
          : `! The connection ${plain(connection)} needs ${fields.join(', ')}: set it in the UI.`,
      ),
    ]);
    return report;
  } catch (error) {
    if (!(error instanceof AppError) || error.errors.length === 0) throw error;
    sayLines(
      terminal.err,
      error.errors.map(({ field, message }) => faultLine(faultAt(made, local, field, message))),
    );
    return null;
  }
}

async function deploy(
  { call }: Remote,
  wanted: { readonly note: string | null; readonly allow: readonly GateName[] },
  terminal: Terminal,
): Promise<number> {
  const receipt = await call('deploy.run', { note: wanted.note, allow: [...wanted.allow] });
  sayLines(
    terminal.out,
    receipt.warnings.map((warning) => `! ${plain(warning)}`),
  );
  const failed = receipt.hosts.filter(({ error }) => error !== null);
  sayLines(
    terminal.err,
    failed.map(({ id, error }) => `The host ${plain(id)} keeps its version: ${plain(error ?? '')}`),
  );
  const version = `Version ${receipt.snapshot_version ?? 0}`;
  terminal.out(receipt.changed ? `${version} deployed.\n` : `${version} is deployed already.\n`);
  return failed.length === 0 ? 0 : 1;
}
