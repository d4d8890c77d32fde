import { afterAll, afterEach, beforeAll, beforeEach } from 'bun:test';
import type { HostOptions } from '#mcp-host/host-options.ts';
import { type ControlServer, controlServer, sqliteFolder, type TestHost, testHost } from '#test/mcp-host/support.ts';
import { until } from '#test/support/until.ts';

const HOOKS = { each: [beforeEach, afterEach], all: [beforeAll, afterAll] } as const;

type Options = Partial<HostOptions>;

/** Stands for what a hook makes, whenever it is used. */
function follow<T extends object>(made: () => T | null | undefined): T {
  const held = (): T => {
    const value = made();
    if (value === null || value === undefined) throw new Error('It is made by a hook that did not run yet.');
    return value;
  };
  return new Proxy({} as T, {
    get: (_, name) => Reflect.get(held(), name) as unknown,
    set: (_, name, value) => Reflect.set(held(), name, value),
  });
}

/**
 * A folder with a SQLite database, the server's end of the control channel and a host that is connected to it, for each test or for
 * all of them. `closing` is closed before the host.
 * @param options null: tests start the host themselves, and hand it to `use`.
 */
export function useHost(scope: keyof typeof HOOKS, options: Options | ((directory: string) => Options) | null = {}) {
  const [before, after] = HOOKS[scope];
  const closing: (() => unknown)[] = [];
  let folder = scope === 'all' ? sqliteFolder() : undefined;
  let control: ControlServer | undefined;
  let host: TestHost | undefined;
  before(async () => {
    const made = scope === 'all' && folder !== undefined ? folder : sqliteFolder();
    folder = made;
    control = controlServer();
    if (options === null) return;
    const given = typeof options === 'function' ? options(made.directory) : options;
    const started = await testHost(made.directory, control.url, given);
    host = started;
    await until(async () => (await started.health()).control.connected);
  });
  after(async () => {
    for (const close of closing.splice(0)) await close();
    await host?.stop();
    await control?.stop();
    folder?.remove();
  });
  return {
    folder: follow(() => folder),
    control: follow(() => control),
    host: follow(() => host),
    closing,
    /** Another host in the place of the one before. */
    use: (other: TestHost) => void (host = other),
  };
}
