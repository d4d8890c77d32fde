import { resolve } from 'node:path';
import { AppError } from '#core/errors.ts';
import { DEPLOY_GATES, GATE_NAMES, type GateName } from '#core/contract/settings/deploy-gates.ts';
import type { ImportReport } from '#core/contract/transfer.ts';
import { checkRoot } from '#core/transfer/files/folder.ts';
import { type Local, readLocal } from '#core/transfer/files/local.ts';
import {
  faultAt,
  isEmptyPlan,
  type Plan,
  configurationAfterPush,
  planOf,
  pushedHashes,
  toImport,
} from '#core/transfer/files/plan.ts';
import { faultLine, pullInto } from '#core/transfer/files/pull.ts';
import { type Configuration, fromExport } from '#core/transfer/files/records.ts';
import { readBase, readKnown, writeBase, writePulled } from '#core/transfer/files/state.ts';
import { checkLines, checksSummary, plain, planLines, planSummary } from '#core/transfer/files/words.ts';
import { configurationChecksum } from '#core/transfer/transfer-deletes.ts';
import { type Arguments, type Command, type Terminal, UsageError } from './command.ts';
import { openRemote, type Remote, REMOTE_OPTIONS, REMOTE_USAGE } from './remote.ts';

/** Exit code when something would change. */
const CHANGES = 2;

const FORCE = { force: { type: 'boolean' } } as const;
const PRUNE = { prune: { type: 'boolean' } } as const;
const OVERLAY = { overlay: { type: 'string' } } as const;

const overlayOf = ({ values }: Arguments): string | null => (typeof values['overlay'] === 'string' ? values['overlay'] : null);

const printLines = (say: Terminal['out'], lines: readonly string[]): void => lines.forEach((line) => say(`${line}\n`));

export const pull: Command = {
  usage: `pull <folder> [--overlay NAME] [--prune] [--force] ${REMOTE_USAGE}`,
  summary: "Write a running server's configuration into a folder, one file per record, without secrets",
  options: { ...REMOTE_OPTIONS, ...FORCE, ...PRUNE, ...OVERLAY },
  words: 1,
  async run(args, terminal) {
    const remote = await openRemote(args, terminal);
    const root = resolve(args.positionals[0] ?? '');
    await checkRoot(root, true);
    const { server } = await readServer(remote);
    const options = { force: args.values['force'] === true, prune: args.values['prune'] === true, overlay: overlayOf(args) };
    const pulled = await pullInto(root, server, await readBase(root, remote.url), options);
    await writeBase(root, remote.url, server);
    await writePulled(root, remote.url, server);
    const { created, updated, deleted, only_here, unchanged } = pulled;
    printLines(terminal.out, [
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
  usage: `plan <folder> [--overlay NAME] [--prune] [--force] ${REMOTE_USAGE}`,
  summary: 'Show what push would change, with what lint and tests find in it, without storing anything',
  options: { ...REMOTE_OPTIONS, ...FORCE, ...PRUNE, ...OVERLAY },
  words: 1,
  async run(args, terminal) {
    const ready = await prepare(args, terminal);
    if (ready === null) return 1;
    if (isEmptyPlan(ready.plan)) return (await printUndeployed(ready.remote, terminal)) ? CHANGES : 0;
    const report = await sendPlan(ready, true, terminal);
    if (report === null) return 1;
    await printUndeployed(ready.remote, terminal);
    return printChecks(report, terminal) ? CHANGES : 1;
  },
};

export const push: Command = {
  usage: `push <folder> [--overlay NAME] [--prune] [--deploy] [--allow GATE[,GATE]] [--note TEXT] [--force] ${REMOTE_USAGE}`,
  summary: 'Apply a folder to a running server, all of it or nothing; --prune deletes what has no file',
  options: {
    ...REMOTE_OPTIONS,
    ...FORCE,
    ...PRUNE,
    ...OVERLAY,
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
    const deploys = args.values['deploy'] === true;
    if (!isEmptyPlan(planned)) {
      if (deploys && !(await mayDeploy(ready, allow, terminal))) return 1;
      if ((await sendPlan(ready, false, terminal)) === null) return 1;
      terminal.out('Stored.\n');
    } else if (await isUnknown(ready)) await sendPlan(ready, false, terminal);
    await writeBase(root, remote.url, configurationAfterPush(planned, ready.server, (await readServer(remote)).server));
    return deploys ? deploy(remote, { note, allow }, terminal) : 0;
  },
};

interface Ready {
  readonly remote: Remote;
  readonly root: string;
  readonly local: Local;
  /** The server's configuration that the plan was computed from. */
  readonly server: Configuration;
  readonly plan: Plan;
  readonly checksum: string;
}

async function readServer({ call }: Remote): Promise<{ readonly server: Configuration; readonly checksum: string }> {
  const exported = await call('transfer.export', {});
  return { server: fromExport(exported), checksum: configurationChecksum(exported) };
}

const readPushed = async ({ call }: Remote): Promise<Readonly<Record<string, string>>> =>
  (await call('transfer.pushed', {})).records;

/** Whether the server does not remember what the files have, although nothing differs: somebody pulled a change. */
async function isUnknown({ remote, local }: Ready): Promise<boolean> {
  const pushed = await readPushed(remote);
  return Object.entries(pushedHashes(local)).some(([id, hash]) => pushed[id] !== hash);
}

/** Compares the folder with the server and prints the differences. Null: refused, and the reasons were printed. */
async function prepare(args: Arguments, terminal: Terminal): Promise<Ready | null> {
  const remote = await openRemote(args, terminal);
  const root = resolve(args.positionals[0] ?? '');
  await checkRoot(root, false);
  const local = await readLocal(root, overlayOf(args));
  if (local.paths.length === 0) {
    throw new AppError('not_found', `There is no configuration in ${root}. Write one with sluice pull.`);
  }
  if (local.faults.length > 0) {
    printLines(terminal.err, local.faults.map(faultLine));
    return null;
  }
  const { server, checksum } = await readServer(remote);
  const known = args.values['force'] === true ? null : await readKnown(root, remote.url, () => readPushed(remote));
  const prune = args.values['prune'] === true;
  const plan = planOf(local, server, known, prune);
  printLines(terminal.out, planLines(plan));
  const stays = prune ? 'stays: no connection has one.' : 'stays. --prune deletes it.';
  const unmatched = plan.left.map(({ room, name }) => `  ${room.kind} ${plain(name)} has no file and ${stays}`);
  printLines(terminal.out, [...unmatched, isEmptyPlan(plan) ? 'Nothing to change.' : planSummary(plan)]);
  if (plan.conflicts.length === 0) return { remote, root, local, server, plan, checksum };
  printLines(terminal.err, plan.conflicts.map(faultLine));
  return null;
}

/** @throws UsageError for an unknown gate, or `--allow` without a deploy. */
function deployOptions({ values }: Arguments): { readonly note: string | null; readonly allow: readonly GateName[] } {
  const { note, allow: named, deploy } = values;
  const allow = typeof named === 'string' ? named.split(',').map((name) => name.trim()) : [];
  const unknown = allow.find((name) => !GATE_NAMES.some((gate) => gate === name));
  if (unknown !== undefined) throw new UsageError(`There is no gate ${unknown}. Gates: ${GATE_NAMES.join(', ')}.`);
  if (allow.length > 0 && deploy !== true) throw new UsageError('--allow needs --deploy: only a deploy has gates.');
  return { note: typeof note === 'string' ? note : null, allow: GATE_NAMES.filter((gate) => allow.includes(gate)) };
}

/** Prints the findings of lint and tests. @returns whether both passed and no gate would block a deploy. */
function printChecks({ checks }: ImportReport, { out, err }: Terminal): boolean {
  if (checks === undefined) return true;
  const { problems, tests, blocking } = checks;
  const lines = checkLines(checks);
  printLines(out, lines.notes);
  printLines(err, lines.faults);
  printLines(out, checksSummary(checks));
  if (blocking.length > 0) err(`A deploy would be blocked by ${blocking.join(' and ')}.\n`);
  return problems.length === 0 && tests.failed === 0 && blocking.length === 0;
}

/** Whether the deploy after a push would pass the checks that can run before anything is stored. Prints why not. */
async function mayDeploy(ready: Ready, allow: readonly GateName[], terminal: Terminal): Promise<boolean> {
  const checks = (await sendPlan(ready, true, { ...terminal, out: () => undefined }))?.checks;
  if (checks === undefined) return false;
  const blocking = checks.blocking.filter((gate) => DEPLOY_GATES[gate].people_only === true || !allow.includes(gate));
  if (checks.problems.length === 0 && blocking.length === 0) return true;
  printLines(terminal.err, checkLines(checks).faults);
  const reasons = [
    ...checks.problems.slice(0, 1).map(() => 'problems in definitions'),
    ...blocking.map((gate) => `the gate ${gate}`),
  ];
  terminal.err(`Nothing was stored: the deploy would be blocked by ${reasons.join(' and ')}.\n`);
  return false;
}

/** Prints how many changes are stored and not deployed. @returns whether there are any; a server that never deployed has none. */
async function printUndeployed({ call }: Remote, { out }: Terminal): Promise<boolean> {
  const { snapshot_version, pending_changes } = await call('deploy.status', {});
  if (snapshot_version === null || pending_changes === 0) return false;
  const [what, it] = pending_changes === 1 ? ['A change is', 'it'] : [`${pending_changes} changes are`, 'them'];
  out(`${what} stored on the server and not deployed. push --deploy deploys ${it} too.\n`);
  return true;
}

/** Null: the server refused it, and the reasons were printed. */
async function sendPlan(
  { remote, local, plan, checksum }: Ready,
  dry_run: boolean,
  terminal: Terminal,
): Promise<ImportReport | null> {
  try {
    const report = await remote.call('transfer.import', toImport(plan, local, checksum, dry_run));
    const faults = report.errors.map(({ entity_type, index, name, field, message }) => {
      const folder = local.records.get(`${entity_type}:${name ?? ''}`)?.room.folder ?? entity_type;
      return faultAt(plan, local, [folder, index, field].filter((part) => part !== null).join('.'), message);
    });
    if (faults.length > 0) {
      printLines(terminal.err, faults.map(faultLine));
      return null;
    }
    printLines(terminal.out, [
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
    printLines(
      terminal.err,
      error.errors.map(({ field, message }) => faultLine(faultAt(plan, local, field, message))),
    );
    return null;
  }
}

async function deploy(
  { call }: Remote,
  options: { readonly note: string | null; readonly allow: readonly GateName[] },
  terminal: Terminal,
): Promise<number> {
  const receipt = await call('deploy.run', { note: options.note, allow: [...options.allow] }).catch((error: unknown) => {
    terminal.err('The changes are stored on the server and not deployed:\n');
    throw error;
  });
  printLines(
    terminal.out,
    receipt.warnings.map((warning) => `! ${plain(warning)}`),
  );
  const failed = receipt.hosts.filter(({ error }) => error !== null);
  printLines(
    terminal.err,
    failed.map(({ id, error }) => `The host ${plain(id)} keeps its version: ${plain(error ?? '')}`),
  );
  const version = `Version ${receipt.snapshot_version ?? 0}`;
  terminal.out(receipt.changed ? `${version} deployed.\n` : `${version} is deployed already.\n`);
  return failed.length === 0 ? 0 : 1;
}
