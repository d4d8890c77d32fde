import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { LiveToken } from '#core/contract/deploy/control.ts';
import { buildBundle } from '#snapshots/bundle/build.ts';
import type { BundleTarget } from '#core/engines/shared/descriptor.ts';
import { freezeBundle, usedConnections } from '#snapshots/bundle/freeze-bundle.ts';
import type { Snapshot } from '#snapshots/format/format.ts';
import { deno } from './deno.ts';
import { freePort } from './free-port.ts';

const ROOT = join(import.meta.dir, '../..');
/** As docs/edge-bundle.md says. */
export const COMPATIBILITY_DATE = '2026-07-01';

export interface RunningBundle {
  readonly url: string;
  /** Milliseconds from the start of the platform to its first answer. */
  readonly started_ms: number;
  /** Everything that was printed so far. */
  output(): string;
  /** Sends SIGTERM and waits. @returns the exit code. */
  terminate(): Promise<number>;
  stop(): Promise<void>;
}

interface Place {
  readonly bindings?: Readonly<Record<string, string>>;
  /** Of Workers: connection strings by the names of their bindings. */
  readonly hyperdrives?: Readonly<Record<string, string>>;
  /** Certificates of an authority that the platform trusts beside the public ones, where it takes any. */
  readonly ca?: string;
}

export async function bundleOf(snapshot: Snapshot, target: BundleTarget, tokens: readonly LiveToken[] = []): Promise<string> {
  const bundled = freezeBundle({ snapshot, tokens, as_of: '2026-01-01T00:00:00.000Z' });
  return (await buildBundle(bundled, usedConnections(snapshot), target)).text;
}

/** Runs the text of a bundle on the platform that it is for, in a folder of its own with nothing else in it. */
export async function startBundle(target: BundleTarget, text: string, place: Place = {}): Promise<RunningBundle> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-edge-'));
  const file = join(folder, 'bundle.mjs');
  await writeFile(file, text);
  const port = freePort();
  const { bindings = {}, hyperdrives = {}, ca } = place;
  if (ca !== undefined) await writeFile(join(folder, 'ca.pem'), ca);
  const trusting = ca === undefined ? {} : { NODE_EXTRA_CA_CERTS: join(folder, 'ca.pem') };
  const path = process.env['PATH'] ?? '';
  const began = performance.now();
  const commands: Readonly<Record<BundleTarget, () => Bun.Subprocess<'ignore', 'pipe', 'pipe'>>> = {
    workers: () =>
      spawn(
        [
          'node',
          join(ROOT, 'test/support/miniflare-program.mjs'),
          JSON.stringify({ file, bindings, hyperdrives, date: COMPATIBILITY_DATE }),
        ],
        ROOT,
        { PATH: path, HOME: folder, ...trusting },
      ),
    deno: () =>
      spawn(
        [
          deno(),
          'serve',
          '--no-remote',
          '--no-lock',
          '--allow-net',
          '--allow-env',
          '--host',
          '127.0.0.1',
          '--port',
          String(port),
          file,
        ],
        folder,
        { PATH: path, HOME: folder, DENO_DIR: join(folder, 'deno'), ...bindings },
      ),
    bun: () => spawn([process.execPath, file], folder, { PATH: path, HOME: folder, PORT: String(port), ...bindings }),
  };
  const child = commands[target]();
  let printed = '';
  for (const stream of [child.stdout, child.stderr]) {
    void (async () => {
      for await (const chunk of stream) printed += Buffer.from(chunk).toString();
    })();
  }
  const terminate = () => {
    child.kill('SIGTERM');
    return child.exited;
  };
  const stop = async () => {
    child.kill('SIGTERM');
    const late = setTimeout(() => child.kill('SIGKILL'), 5_000);
    await child.exited;
    clearTimeout(late);
    await rm(folder, { recursive: true, force: true });
  };
  const address = () => (target === 'workers' ? (/^ready (\S+)$/m.exec(printed)?.[1] ?? null) : `http://127.0.0.1:${port}`);
  try {
    const url = await answering(address, () => child.exitCode === null);
    return { url, started_ms: performance.now() - began, output: () => printed, terminate, stop };
  } catch (error) {
    await stop();
    throw new Error(`The bundle did not start: ${printed}`, { cause: error });
  }
}

const spawn = (command: string[], cwd: string, env: Record<string, string>): Bun.Subprocess<'ignore', 'pipe', 'pipe'> =>
  Bun.spawn(command, { cwd, env, stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' });

/** The address, once something answers there: a platform may take seconds to start. */
export async function answering(address: () => string | null, isAlive: () => boolean): Promise<string> {
  for (let attempt = 0; attempt < 1_000 && isAlive(); attempt++) {
    const url = address();
    if (url !== null && (await fetch(`${url}/health`).catch(() => null)) !== null) return url;
    await Bun.sleep(20);
  }
  throw new Error('It ended, or nothing answers.');
}
