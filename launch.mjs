// Starts, builds or tests Sluice on a machine that has only Node ≥ 20 and npm, or only Bun ≥ 1.4. Plain JavaScript without a
// dependency, because it runs before anything is installed.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import * as os from 'node:os';
import { basename, delimiter, dirname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { LaunchError, run, stopping, unpackedBun, versionOf, watchSignals, WINDOWS } from './processes.mjs';

const ROOT = dirname(fileURLToPath(import.meta.url));
const MODULES = join(ROOT, 'node_modules');
const UI_PAGE = join(ROOT, 'ui', 'index.html');
const OFFLINE =
  /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|ConnectionRefused|FailedToOpenSocket|ConnectionClosed|DNSResolve|UnableToConnect|Timeout downloading/i;

const say = (line) => process.stdout.write(`${line}\n`);
const seconds = (since) => `${((Date.now() - since) / 1000).toFixed(1)} s`;
const read = (path) => (existsSync(path) ? readFileSync(path, 'utf8') : null);

/** Runs a step, saying what happens at its start, every 10 s and at its end. */
async function step(begin, end, work) {
  const since = Date.now();
  say(`${begin} …`);
  const timer = setInterval(() => say(`  still running (${seconds(since)})`), 10_000);
  try {
    const result = await work();
    say(`${end} in ${seconds(since)}.`);
    return result;
  } finally {
    clearInterval(timer);
  }
}

function expectSuccess(result, sentence) {
  if (stopping !== null) throw new LaunchError('Stopped.');
  if (result.code === 0) return;
  if (!OFFLINE.test(result.output)) throw new LaunchError(sentence, result.output);
  throw new LaunchError(
    'The npm registry cannot be reached. It is needed once, to install the dependencies. Check the network, the proxy and ' +
      'the registry that `npm config get registry` names, then start again.',
    result.output,
  );
}

const atLeast = (version, wanted) => version !== null && version.localeCompare(wanted, 'en', { numeric: true }) >= 0;

/** A Bun that can install the rest: the one we run under, one on the PATH, or the locked version from the npm registry. */
async function installerBun(wanted) {
  if (process.versions.bun !== undefined) return process.execPath;
  for (const folder of (process.env.PATH ?? '').split(delimiter).filter((path) => path && !path.startsWith(MODULES))) {
    const path = join(folder, WINDOWS ? 'bun.exe' : 'bun');
    if (existsSync(path) && atLeast(await versionOf(path), wanted)) return path;
  }
  const folder = join(MODULES, '.sluice-bun');
  const earlier = await unpackedBun(join(folder, 'node_modules'), wanted);
  if (earlier !== null) return earlier;
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{ "private": true }\n');
  const flags = ['--no-save', '--no-package-lock', '--ignore-scripts', '--include=optional', '--no-audit', '--no-fund'];
  const retries = ['--fetch-retries=1', '--fetch-retry-mintimeout=1000'];
  await step(`Getting Bun ${wanted} from the npm registry`, `Got Bun ${wanted}`, async () =>
    expectSuccess(
      await runNpm(['install', '--prefix', folder, ...flags, ...retries, `bun@${wanted}`], folder),
      `npm could not install bun@${wanted}.`,
    ),
  );
  const bun = await unpackedBun(join(folder, 'node_modules'), wanted);
  if (bun === null)
    throw new LaunchError(`The package bun@${wanted} has no executable for this machine. Install Bun ≥ 1.4 (https://bun.sh).`);
  return bun;
}

const runNpm = (args, cwd) =>
  /npm-cli\.[cm]?js$/.test(process.env.npm_execpath ?? '')
    ? run(process.execPath, [process.env.npm_execpath, ...args], { cwd })
    : run(WINDOWS ? 'npm.cmd' : 'npm', args, { cwd });

/** What `bun install` cannot read itself: Bun knows the .npmrc of home and project, not npm's global file or npm's flags. */
async function npmSettings() {
  if (process.versions.bun !== undefined) return {};
  const { code, output } = await runNpm(['config', 'get', 'registry', 'https-proxy', 'cafile'], ROOT);
  if (code !== 0) return {};
  const value = (key) => new RegExp(`^${key}=(?!null$|undefined$)(.+)$`, 'm').exec(output)?.[1];
  const settings = {
    npm_config_registry: value('registry'),
    HTTPS_PROXY: value('https-proxy'),
    NODE_EXTRA_CA_CERTS: value('cafile'),
  };
  return Object.fromEntries(Object.entries(settings).filter(([key, text]) => text !== undefined && !process.env[key]));
}

/** Installs what bun.lock says when it is not installed yet; answers with the path of the Bun that runs everything. */
async function prepare() {
  const manifest = readFileSync(join(ROOT, 'package.json'), 'utf8');
  const wanted = JSON.parse(manifest).dependencies.bun;
  const lock = readFileSync(join(ROOT, 'bun.lock'), 'utf8');
  const stamp = digest([manifest, lock, process.platform, process.arch]);
  const stamp_path = join(MODULES, '.sluice-installed');
  if (read(stamp_path) === stamp) {
    const installed = await unpackedBun(MODULES, wanted);
    if (installed !== null) return installed;
  }
  const installer = await installerBun(wanted);
  const env = { ...process.env, ...(await npmSettings()) };
  await step('Installing the locked dependencies', 'Installed the dependencies', async () =>
    expectSuccess(await run(installer, ['install', '--frozen-lockfile'], { env }), '`bun install --frozen-lockfile` failed.'),
  );
  const bun = (await unpackedBun(MODULES, wanted)) ?? (installer.startsWith(MODULES) ? null : installer);
  if (bun === null)
    throw new LaunchError(`The dependencies are installed, but node_modules has no Bun ${wanted} that runs here.`);
  rmSync(join(MODULES, '.sluice-bun'), { recursive: true, force: true });
  writeFileSync(stamp_path, stamp);
  return bun;
}

/** Builds the UI when its sources, the contract it is written against or its libraries changed since the last build. */
async function buildUi(bun) {
  if (!existsSync(UI_PAGE)) return;
  const ui = dirname(UI_PAGE);
  const sources = [
    'ui',
    'core/contract',
    'core/lib',
    'core/client/client.ts',
    'core/client',
    'core/errors.ts',
    'bun.lock',
    'package.json',
  ];
  const files = sources
    .flatMap((path) => filesBelow(join(ROOT, path)))
    .filter((path) => !path.startsWith(join(ui, 'dist') + sep));
  const stamp = digest(files.flatMap((path) => [relative(ROOT, path), readFileSync(path)]));
  const stamp_path = join(ui, 'dist', '.sluice-built');
  if (read(stamp_path) === stamp) return;
  await step('Building the UI', 'Built the UI', async () =>
    expectSuccess(await run(bun, ['node_modules/vite/bin/vite.js', 'build', 'ui']), '`vite build ui` failed.'),
  );
  writeFileSync(stamp_path, stamp);
}

function filesBelow(path) {
  if (!existsSync(path)) return [];
  try {
    const entries = readdirSync(path, { withFileTypes: true }).toSorted((a, b) => (a.name < b.name ? -1 : 1));
    return entries.flatMap((entry) => (entry.isDirectory() ? filesBelow(join(path, entry.name)) : [join(path, entry.name)]));
  } catch (error) {
    if (error.code === 'ENOTDIR') return [path];
    throw error;
  }
}

function digest(parts) {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(String(part.length)).update('\0').update(part);
  return hash.digest('hex');
}

async function start() {
  const bun = await prepare();
  await buildUi(bun);
  const env = { ...process.env, SVC_ENV: process.env.SVC_ENV || 'dev' };
  const { code, output } = await run(bun, ['server/main.ts'], { foreground: true, env });
  if (output) throw new LaunchError('The server could not be started.', output);
  return code;
}

/** Every check and test; the runner is TypeScript and ends with the line `N passed, N failed, N skipped`. */
async function test(args) {
  const bun = await prepare();
  const { code } = await run(bun, ['--no-orphans', 'test/runner/run.ts', ...args], { foreground: true });
  return code;
}

async function build() {
  await buildUi(await prepare());
  return 0;
}

async function main([command, ...args]) {
  const work = { start, build, test }[command];
  if (work === undefined)
    throw new LaunchError(`Usage: node ${basename(fileURLToPath(import.meta.url))} start | build | test [path …]`);
  if (process.versions.bun === undefined && Number.parseInt(process.versions.node, 10) < 20) {
    throw new LaunchError(`Sluice needs Node 20 or later (this is ${process.version}), or Bun 1.4 or later.`);
  }
  process.chdir(ROOT);
  watchSignals();
  return work(args);
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof LaunchError)) throw error;
  process.stderr.write(`${error.output.trim() ? `${error.output.trim()}\n\n` : ''}${error.message}\n`);
  if (process.argv[2] === 'test') say('\n0 passed, 1 failed, 0 skipped');
  process.exitCode = stopping === null ? 1 : 128 + os.constants.signals[stopping.signal];
}
