import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DialledFetch } from '#core/engines/shared/network.ts';

/** The npm package brings the engine of ClickHouse as a library, without its HTTP server. */
export const hasChdb = existsSync(join(import.meta.dir, '../servers/node_modules/chdb'));
if (!hasChdb && process.env['CI'] === 'true') throw new Error('chdb is not installed in test/servers.');

export interface Chdb {
  /**
   * In the place of the network: settings and values of a request's address become the session's, and its text is run by the engine
   * alone. What the HTTP server does itself (accounts, refusing a list of statements, ending one) is not there.
   */
  readonly fetch: DialledFetch;
  /** Runs one statement beside the code under test. */
  run(text: string): Promise<string>;
  /** Addresses that were asked for, without what is in front of the parameters. */
  readonly asked: URLSearchParams[];
  readonly folder: string;
  stop(): Promise<void>;
}

interface Answer {
  readonly id: number;
  readonly ok: boolean;
  readonly body: string;
}

/** Parameters of an address that are no settings. */
const NO_SETTINGS = new Set(['database', 'default_format', 'query_id']);

/** @param account settings of the account's own profile. */
export async function startChdb(account: Readonly<Record<string, string>> = {}): Promise<Chdb> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-chdb-'));
  const waiting = new Map<number, (answer: Answer) => void>();
  const asked: URLSearchParams[] = [];
  const ready = Promise.withResolvers<void>();
  const program = Bun.spawn([process.execPath, join(import.meta.dir, 'chdb-program.mjs'), join(folder, 'data')], {
    stdio: ['ignore', 'ignore', 'ignore'],
    cwd: folder,
    ipc(answer: Answer) {
      if (answer.id === 0) ready.resolve();
      waiting.get(answer.id)?.(answer);
      waiting.delete(answer.id);
    },
    onExit: () => {
      ready.reject(new Error('chdb ended.'));
      for (const [id, answer] of waiting) answer({ id, ok: false, body: 'chdb ended.' });
    },
  });
  let last = 0;

  function send(text: string, database: string | null, settings: readonly (readonly [string, string])[], format: string) {
    const id = ++last;
    const answer = new Promise<Answer>((resolve) => waiting.set(id, resolve));
    program.send({ id, text, database, settings, format });
    return answer;
  }

  await ready.promise;
  return {
    folder,
    asked,
    async run(text) {
      const { ok, body } = await send(text, null, [], 'TabSeparated');
      if (!ok) throw new Error(body);
      return body.trim();
    },
    async fetch(url, init) {
      const parameters = new URL(url).searchParams;
      asked.push(parameters);
      const settings = [...parameters].filter(([name]) => !NO_SETTINGS.has(name));
      const all = [...Object.entries(account), ...settings];
      const work = send(init.body as string, parameters.get('database'), all, parameters.get('default_format') ?? 'TabSeparated');
      const signal = init.signal;
      const left = new Promise<never>((_, reject) => {
        signal?.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
      });
      const { ok, body } = await Promise.race([work, left]);
      return new Response(body, { status: ok ? 200 : 500 });
    },
    async stop() {
      program.kill('SIGKILL');
      await program.exited;
      await rm(folder, { recursive: true, force: true });
    },
  };
}
