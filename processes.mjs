// Starting other programs and ending them properly: for `launch.mjs` and `sluice.mjs`, which run before there is a Bun. Plain JavaScript
// without a dependency.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import * as os from 'node:os';
import { join } from 'node:path';

export const WINDOWS = process.platform === 'win32';
/** A server ends within 14 s with a host that has calls (`server/main.ts`); the containers are given 15 s. */
const STOP_MS = 14_000;

const running = new Set();
/** What ended us, and when. */
export let stopping = null;

/** A sentence for the person at the terminal; `output` is what the failed program said. */
export class LaunchError extends Error {
  constructor(sentence, output = '') {
    super(sentence);
    this.output = output;
  }
}

/**
 * Runs a program in a process group of its own, so that a stop reaches it once (a terminal's Ctrl-C would reach it twice)
 * and nothing it started outlives it. `foreground` gives it our streams and an IPC channel whose end tells it that we died.
 */
export function run(program, args, { foreground = false, env = process.env, cwd } = {}) {
  if (stopping !== null) throw new LaunchError('Stopped.');
  const stdio = foreground ? ['inherit', 'inherit', 'inherit', 'ipc'] : ['ignore', 'pipe', 'pipe'];
  const options = { cwd, env, stdio, detached: !WINDOWS };
  return new Promise((done) => {
    let child;
    try {
      child = spawn(program, args, options);
    } catch (error) {
      // Bun throws where Node emits `error`.
      return done({ code: 127, signal: null, output: `${error.message}\n` });
    }
    let output = '';
    child.stdout?.setEncoding('utf8').on('data', (text) => (output += text));
    child.stderr?.setEncoding('utf8').on('data', (text) => (output += text));
    running.add(child);
    const finish = (code, signal, failure = '') => {
      if (!running.delete(child)) return;
      endGroup(child, 'SIGKILL');
      done({ code: code ?? (signal ? 128 + (os.constants.signals[signal] ?? 0) : 1), signal, output: output + failure });
    };
    child.on('error', (error) => finish(127, null, `${error.message}\n`));
    child.on('close', (code, signal) => finish(code, signal));
    // A grandchild that keeps a pipe open holds `close` back: its group ends with the program that started it.
    child.on('exit', () => endGroup(child, 'SIGKILL'));
  });
}

function endGroup(child, signal) {
  if (child.pid === undefined) return;
  try {
    if (WINDOWS) child.kill(signal);
    else process.kill(-child.pid, signal);
  } catch {
    // ESRCH: every process of the group has ended.
  }
}

/** The first signal is passed on as SIGTERM, a second one a second later (or 14 s of waiting) ends everything. */
function stop(signal) {
  const again = stopping !== null && Date.now() - stopping.at > 1_000;
  if (stopping !== null && !again) return;
  if (running.size === 0) process.exit(128 + os.constants.signals[signal]);
  stopping ??= { signal, at: Date.now() };
  for (const child of running) {
    if (again) endGroup(child, 'SIGKILL');
    else child.kill('SIGTERM');
  }
  setTimeout(() => running.forEach((child) => endGroup(child, 'SIGKILL')), STOP_MS).unref();
}

export function watchSignals() {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => stop(signal));
  // npm may be killed without a chance to tell us, and its shell then lives on. What no npm started has no such parent.
  if (process.env.npm_lifecycle_event === undefined || WINDOWS) return;
  const parent = process.ppid;
  const above = runnerAbove(parent);
  const isGone = () => process.ppid !== parent || (above !== null && !isAlive(above));
  setInterval(() => stopping === null && isGone() && stop('SIGTERM'), 200).unref();
}

/** The npm that started a process which is only its shell (`npx` keeps one), or null. */
function runnerAbove(pid) {
  let found;
  try {
    found = /\((.*)\) . (\d+)/s.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    // Other systems than Linux.
    const { stdout } = spawnSync('ps', ['-o', 'comm=,ppid=', '-p', String(pid)], { encoding: 'utf8' });
    found = /^(.*?)\s+(\d+)\s*$/.exec(stdout ?? '');
  }
  return /(?:^|[\\/-])(?:ba|da|a|z|k)?sh$/.test(found?.[1] ?? '') ? Number(found[2]) : null;
}

function isAlive(pid) {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return error.code !== 'ESRCH';
  }
}

export async function versionOf(bun) {
  const { code, output } = await run(bun, ['--version']);
  return code === 0 && /^\d+\.\d+\.\d+/.test(output) ? output.trim() : null;
}

/** The Bun that npm or Bun unpacked below a node_modules folder, or null: the platform package is there under --ignore-scripts too. */
export async function unpackedBun(modules, wanted) {
  const scope = join(modules, '@oven');
  const platforms = existsSync(scope)
    ? readdirSync(scope).map((name) => join(scope, name, 'bin', WINDOWS ? 'bun.exe' : 'bun'))
    : [];
  for (const path of [join(modules, 'bun', 'bin', 'bun.exe'), ...platforms]) {
    if (existsSync(path) && (await versionOf(path)) === wanted) return path;
  }
  return null;
}
