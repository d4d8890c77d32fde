import { readFile } from 'node:fs/promises';
import * as v from 'valibot';
import { AppError } from '#core/errors.ts';
import { writeFileAtomic } from '#core/lib/durable-file.ts';
import { plain } from '#core/transfer/files/words.ts';
import { type Arguments, type Command, type Terminal, UsageError } from './command.ts';
import { addressOf, send, warnOfPlainHttp } from './remote.ts';

/** The response of a host, and the content of a lock file. */
const Definitions = v.object({
  snapshot_version: v.number(),
  checksum: v.string(),
  definitions: v.record(v.string(), v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/))),
});
type Definitions = v.InferOutput<typeof Definitions>;
/** The address is optional: a plain copy of a host's response is a lock file too. */
const Lock = v.object({ ...Definitions.entries, url: v.optional(v.string()) });

/** Exit code when a definition differs from the lock file. */
const DIFFERS = 2;
const PATH = '/.well-known/mcp-definitions';

export const verify: Command = {
  usage: 'verify <lock> [--write] [--url URL] [--token TOKEN]',
  summary: 'Compare the definitions that an MCP host serves with a stored copy; --write stores it',
  options: { url: { type: 'string' }, token: { type: 'string' }, write: { type: 'boolean' } },
  words: 1,
  async run(args, terminal) {
    const file = args.positionals[0] ?? '';
    const write = args.values['write'] === true;
    const lock = write ? null : await readLock(file);
    const url = lockedUrl(args, terminal, lock?.url);
    const served = await readServed(url, args, terminal);
    const names = Object.keys(served.definitions);
    if (lock === null) {
      await writeFileAtomic(file, `${JSON.stringify({ url, ...served }, null, 2)}\n`);
      terminal.out(`${count(names.length)} of version ${served.snapshot_version} written to ${file}.\n`);
      return 0;
    }
    const lines = differences(lock.definitions, served.definitions);
    for (const line of lines) terminal.out(`${line}\n`);
    terminal.out(
      lines.length === 0
        ? `${count(names.length)} as locked (version ${served.snapshot_version}).\n`
        : `Version ${served.snapshot_version} is not what ${file} holds. Review the difference, then run verify with --write.\n`,
    );
    return lines.length === 0 ? 0 : DIFFERS;
  },
};

const count = (number: number): string => (number === 1 ? '1 definition' : `${number} definitions`);

function differences(old: Definitions['definitions'], now: Definitions['definitions']): string[] {
  const names = [...new Set([...Object.keys(old), ...Object.keys(now)])].toSorted();
  return names.flatMap((name) => {
    if (old[name] === now[name]) return [];
    const what = old[name] === undefined ? '+ added' : now[name] === undefined ? '- removed' : '~ changed';
    return [`${what.padEnd(9)}  ${plain(name)}`];
  });
}

/** The origin of the MCP host, without a trailing slash. An endpoint such as `https://…/mcp/sales` names a toolset. */
function lockedUrl({ values }: Pick<Arguments, 'values'>, terminal: Terminal, locked: string | undefined): string {
  const set = terminal.environment['SLUICE_MCP_URL'];
  const named = values['url'] ?? locked ?? (set || undefined);
  if (named === undefined)
    throw new UsageError('Which MCP host? Set SLUICE_MCP_URL or pass --url, such as https://mcp.example.com.');
  const url = addressOf(named);
  // Anyone who proposes a change can edit the file, and the token is sent to the address in it.
  if (values['url'] === undefined && set && addressOf(set).origin !== url.origin) {
    throw new UsageError(`The file names ${url.origin}, and SLUICE_MCP_URL ${addressOf(set).origin}. Pass --url to choose one.`);
  }
  warnOfPlainHttp(url, terminal);
  return url.href.replace(/\/$/, '');
}

async function readServed(url: string, { values }: Pick<Arguments, 'values'>, { environment }: Terminal): Promise<Definitions> {
  const { origin, pathname } = new URL(url);
  const token = values['token'] ?? environment['SLUICE_MCP_TOKEN'];
  const headers = typeof token === 'string' && token !== '' ? { authorization: `Bearer ${token}` } : undefined;
  const answer = await send(`${origin}${PATH}${pathname === '/' ? '' : pathname}`, headers === undefined ? {} : { headers });
  const body: unknown = await answer.json().catch(() => null);
  if (answer.status === 401) {
    throw new AppError('unauthenticated', `${origin} wants a token of an MCP client: set SLUICE_MCP_TOKEN or pass --token.`);
  }
  const read = v.safeParse(Definitions, body);
  if (answer.ok && read.success) return read.output;
  const answer_error = v.safeParse(v.object({ error: v.object({ message: v.string() }) }), body);
  throw new AppError(
    'unavailable',
    answer_error.success
      ? `${origin}: ${plain(answer_error.output.error.message)}`
      : `${origin} serves no definitions here (status ${answer.status}).`,
  );
}

async function readLock(file: string): Promise<v.InferOutput<typeof Lock>> {
  const text = await readFile(file, 'utf8').catch((cause: unknown) => {
    throw new AppError('not_found', `The file ${file} cannot be read. Write it with sluice verify ${file} --write.`, { cause });
  });
  try {
    return v.parse(Lock, JSON.parse(text));
  } catch (cause) {
    throw new AppError('invalid', `${file} is not a lock file. Write it with sluice verify ${file} --write.`, { cause });
  }
}
