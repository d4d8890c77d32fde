import { readdirSync, readFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';

/** What the system says of a program and the programs that it started. */
export interface Tree {
  /** Seconds of processor time since each of them began. */
  readonly cpu_s: number;
  readonly rss_mib: number;
  readonly descriptors: number;
}

/** Clock ticks a second, as Linux reports them to programs on every platform (`man 5 proc`, USER_HZ). */
const TICKS = 100;
const PAGE_MIB = 4096 / 1024 / 1024;

interface Stat {
  readonly parent: number;
  readonly ticks: number;
  readonly pages: number;
}

function statOf(pid: number): Stat | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name of the program stands in brackets and may hold spaces.
    const fields = text
      .slice(text.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number);
    return { parent: fields[1] ?? 0, ticks: (fields[11] ?? 0) + (fields[12] ?? 0), pages: fields[21] ?? 0 };
  } catch {
    return null;
  }
}

/** The process and all below it. */
export function pidsBelow(root: number): number[] {
  const parents = new Map<number, number>();
  for (const entry of readdirSync('/proc')) {
    const pid = Number(entry);
    const stat = Number.isInteger(pid) ? statOf(pid) : null;
    if (stat !== null) parents.set(pid, stat.parent);
  }
  const found = [root];
  for (let next = 0; next < found.length; next++) {
    for (const [pid, parent] of parents) if (parent === found[next]) found.push(pid);
  }
  return found;
}

export function measureTree(pids: readonly number[]): Tree {
  const stats = pids.flatMap((pid) => statOf(pid) ?? []);
  return {
    cpu_s: stats.reduce((sum, { ticks }) => sum + ticks, 0) / TICKS,
    rss_mib: stats.reduce((sum, { pages }) => sum + pages, 0) * PAGE_MIB,
    descriptors: pids.reduce((sum, pid) => sum + descriptorsOf(pid), 0),
  };
}

function descriptorsOf(pid: number): number {
  try {
    return readdirSync(`/proc/${pid}/fd`).length;
  } catch {
    return 0;
  }
}

/** The one of these programs whose command line holds the text. */
export function pidOf(pids: readonly number[], text: string): number | null {
  return pids.find((pid) => commandOf(pid).includes(text)) ?? null;
}

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
  } catch {
    return '';
  }
}

/** Shares of the processors' time between two calls. */
export interface Shares {
  readonly busy: number;
  /** Taken by other machines on the same hardware while this one had work (`steal` in `man 5 proc`). */
  readonly stolen: number;
}

export function sharesMeter(): () => Shares {
  const read = () => {
    const [, ...fields] = readFileSync('/proc/stat', 'utf8').split('\n', 1)[0]!.trim().split(/\s+/);
    const ticks = fields.map(Number);
    return { all: ticks.reduce((sum, n) => sum + n, 0), idle: (ticks[3] ?? 0) + (ticks[4] ?? 0), stolen: ticks[7] ?? 0 };
  };
  let before = read();
  return () => {
    const now = read();
    const all = Math.max(1, now.all - before.all);
    const shares = { busy: 1 - (now.idle - before.idle) / all, stolen: (now.stolen - before.stolen) / all };
    before = now;
    return shares;
  };
}

export function describeMachine(postgres: string): string {
  const system = /^PRETTY_NAME="(.*)"/m.exec(readText('/etc/os-release'))?.[1] ?? 'Linux';
  return `${cpus().length} cores, ${Math.round(totalmem() / 1024 ** 3)} GiB, ${system}, Bun ${Bun.version}, PostgreSQL ${postgres}`;
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
