import { readFile } from 'node:fs/promises';
import * as v from 'valibot';
import { AppError } from '#core/errors.ts';
import { writeFileAtomic } from '#core/lib/durable-file.ts';
import { plain } from '#core/transfer/files/words.ts';
import { candidateAt, DEFINITIONS_PATH, endpointOf } from '#core/edge/mcp-endpoint.ts';
import { type Arguments, type Command, type Terminal, UsageError } from '../command.ts';
import { addressOf, send, warnOfPlainHttp } from '../remote.ts';
import { listFaults, readLiveLists } from './live-lists.ts';
import { Signature, signatureFault, trustedKeys } from './signature.ts';

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
/** A deploy between two requests makes them differ. */
const TRIES = 3;

export const verify: Command = {
  usage: 'verify <lock> [--write] [--url URL] [--token TOKEN] [--key FILE] [--unsigned]',
  summary: 'Check what an MCP host serves: its signature, its lists, and a stored copy; --write stores it',
  options: {
    url: { type: 'string' },
    token: { type: 'string' },
    key: { type: 'string' },
    write: { type: 'boolean' },
    unsigned: { type: 'boolean' },
  },
  words: 1,
  async run(args, terminal) {
    const file = args.positionals[0] ?? '';
    const write = args.values['write'] === true;
    const lock = write ? null : await readLock(file);
    const url = lockedUrl(args, terminal, lock?.url);
    const { served, faults, signed_by } = await readChecked(url, args, terminal);
    for (const fault of faults) terminal.out(`${fault}\n`);
    if (faults.length > 0) {
      terminal.out(`Do not trust what ${url} serves until this is explained.${write ? ' Nothing was written.' : ''}\n`);
      return DIFFERS;
    }
    const names = Object.keys(served.definitions);
    const by = signed_by === null ? '' : `, signed by ${signed_by}`;
    if (lock === null) {
      await writeFileAtomic(file, `${JSON.stringify({ url, ...served }, null, 2)}\n`);
      terminal.out(`${count(names.length)} of version ${served.snapshot_version} written to ${file}${by}.\n`);
      return 0;
    }
    const lines = differences(lock.definitions, served.definitions);
    for (const line of lines) terminal.out(`${line}\n`);
    terminal.out(
      lines.length === 0
        ? `${count(names.length)} as locked (version ${served.snapshot_version})${by}.\n`
        : `Version ${served.snapshot_version} is not what ${file} holds. Review the difference, then run verify with --write.\n`,
    );
    return lines.length === 0 ? 0 : DIFFERS;
  },
};

interface Checked {
  readonly served: Definitions;
  /** What is wrong with the signature or the lists. */
  readonly faults: readonly string[];
  /** ID of the key; null: not signed. */
  readonly signed_by: string | null;
}

/** Reads the definitions of a host, and checks its signature and the lists that MCP clients get. */
async function readChecked(url: string, args: Pick<Arguments, 'values'>, terminal: Terminal): Promise<Checked> {
  const { origin, pathname } = new URL(url);
  const headers = headersOf(args, terminal);
  const mcp = `${origin}${pathname === '/' ? '/mcp' : pathname}`;
  for (let tries_left = TRIES; ; tries_left--) {
    const answer = await readServed(url, headers);
    const { snapshot_version, checksum, definitions } = answer;
    const served = { snapshot_version, checksum, definitions };
    const { signature } = answer;
    if (signature === null) {
      if (args.values['unsigned'] === true && args.values['key'] === undefined) return { served, faults: [], signed_by: null };
      const fault = `${origin} serves definitions without a signature. With --unsigned they are only compared with the file.`;
      return { served, faults: [fault], signed_by: null };
    }
    const keys = await trustedKeys(args.values['key'], origin);
    const fault = await signatureFault(served, signature, keys, listAt(pathname), Date.now());
    if (fault !== null) return { served, faults: [fault], signed_by: null };
    const live = await readLiveLists(mcp, headers);
    const faults = listFaults(live, signature.listings);
    const is_settled = faults.length === 0 || tries_left === 1 || (await readServed(url, headers)).checksum === checksum;
    if (!is_settled) continue;
    for (const name of live.added_by_host) terminal.err(`Not covered by the signature: ${plain(name)}\n`);
    return { served, faults, signed_by: signature.kid };
  }
}

/** The signed list that an address shows, or a part of. */
function listAt(pathname: string): string {
  const rest = pathname.replace(/^\/mcp(?=\/|$)/, '');
  const endpoint = candidateAt(rest) ?? endpointOf(rest);
  return endpoint?.toolset ?? (endpoint?.candidate == null ? '' : `candidate/${endpoint.candidate}`);
}

function headersOf({ values }: Pick<Arguments, 'values'>, { environment }: Terminal): Record<string, string> {
  const token = values['token'] ?? environment['SLUICE_MCP_TOKEN'];
  return typeof token === 'string' && token !== '' ? { authorization: `Bearer ${token}` } : {};
}

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

async function readServed(
  url: string,
  headers: Readonly<Record<string, string>>,
): Promise<Definitions & { readonly signature: Signature | null }> {
  const { origin, pathname } = new URL(url);
  const answer = await send(`${origin}${DEFINITIONS_PATH}${pathname === '/' ? '' : pathname}`, { headers });
  const body: unknown = await answer.json().catch(() => null);
  if (answer.status === 401) {
    throw new AppError('unauthenticated', `${origin} wants a token of an MCP client: set SLUICE_MCP_TOKEN or pass --token.`);
  }
  const read = v.safeParse(Definitions, body);
  if (answer.ok && read.success) {
    const signature = v.safeParse(Signature, body);
    return { ...read.output, signature: signature.success ? signature.output : null };
  }
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
