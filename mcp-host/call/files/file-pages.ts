import { AppError } from '#core/errors.ts';
import type { Row } from '#core/lib/sql/result.ts';
import { rowFileOf } from '#core/query/files/formats.ts';
import { streamQuery } from '#core/query/files/stream-query.ts';
import { sessionOf } from '#core/query/session.ts';
import { holderOf } from '#mcp-host/auth/caller.ts';
import { RPC, RpcError } from '#mcp-host/protocol/messages.ts';
import type { CallContext } from '../context.ts';
import { type Count, type DownloadOptions, type Grant, NoFile, ofFiles, recordDownload } from './download.ts';
import { FILE_SCHEME, pagedAddress } from './file-links.ts';

/** Reads whole results page by page, for clients that cannot open links. */
export interface FilePages {
  /** The members of a `resources/read` result. Null: the URI is not the address of a file. */
  read(uri: string, context: CallContext): Promise<string> | null;
}

type Options = Pick<DownloadOptions, 'pools' | 'limits' | 'usage' | 'pseudonym' | 'log' | 'now'> & {
  /** Throws unless the caller of the address would still get its file. */
  readonly grant: (sealed: string) => Grant;
};

/** A page ends after this many rows or characters. */
const PAGE_ROWS = 1_000;
const PAGE_CHARACTERS = 64 * 1024;
/** The default of the setting, which is absent then. */
const MAX_ROWS = 5_000_000;
const ADDRESS = new RegExp(String.raw`^${FILE_SCHEME}([\w-]+)(?:\?after=(\d{1,9}))?$`);

export function createFilePages(options: Options): FilePages {
  return {
    read(uri, context) {
      if (!uri.startsWith(FILE_SCHEME)) return null;
      const [, sealed, after = '0'] = ADDRESS.exec(uri) ?? [];
      return readPage(options, { uri, sealed: sealed ?? '', after: Number(after) }, context);
    },
  };
}

interface Address {
  readonly uri: string;
  readonly sealed: string;
  /** Rows before the page. */
  readonly after: number;
}

async function readPage(options: Options, { uri, sealed, after }: Address, context: CallContext): Promise<string> {
  const { log } = options;
  try {
    const grant = options.grant(sealed);
    if (grant.granted.caller.owner !== context.caller.owner) throw new NoFile('another caller');
    const count: Count = { rows: 0, bytes: 0, wait_ms: 0, started: performance.now() };
    const how = { ...options, ...grant };
    const client = `download page (${grant.sealed.format})`;
    try {
      const { text, mime_type, more } = await pageOf(options, grant, after, context, count);
      recordDownload(how, count, null, client);
      const contents = [{ uri, mimeType: mime_type, text }];
      if (!more) return `"contents":${JSON.stringify(contents)}`;
      const next = pagedAddress(sealed, after + count.rows);
      const note = `These are the rows ${after + 1} to ${after + count.rows}, and more follow. Read the resource ${next} for the next ones.`;
      return `"contents":${JSON.stringify([...contents, { uri: next, mimeType: 'text/plain', text: note }])},"_meta":${JSON.stringify({ 'sluice/next': next })}`;
    } catch (error) {
      recordDownload(how, count, error, client);
      throw error;
    }
  } catch (error) {
    const reason = error instanceof NoFile ? error.message : error instanceof AppError ? error.code : String(error);
    log.info('no_file', { tool: null, reason, request_id: context.record.exchange.request_id });
    const code = context.record.protocol.modern ? RPC.invalid_params : RPC.resource_not_found_legacy;
    throw new RpcError(code, 'Resource not found.', { data: { uri }, fault: 'not_found' });
  }
}

/** Ends the statement after the last row of a page. */
class PageEnd extends Error {}

/** Runs the statement, passes over the rows before the page, and ends it behind the page. */
async function pageOf(options: Options, { sealed, granted }: Grant, after: number, context: CallContext, count: Count) {
  const { pools, limits, pseudonym, now } = options;
  const { caller, view, entry } = granted;
  const { server, vars } = view;
  const { deadline, record } = context;
  if (after >= (server.files_max_rows ?? MAX_ROWS)) throw new AppError('too_large', 'The page is beyond files_max_rows.');
  const holder = () => holderOf(caller, record.exchange.address);
  const turn = limits.take(entry.entity, holder);
  if (turn !== undefined) await turn;
  const facts = { arguments: sealed.args, vars, caller, call: { time: now(), id: crypto.randomUUID() } };
  const values = await entry.plan.resolve(facts);
  const session = sessionOf(entry.connection, facts);
  const openFile = await rowFileOf(sealed.format);
  const pool = pools.hold(ofFiles(entry.connection, server));
  const entered_at = performance.now();
  let has_slot = false;
  try {
    const waiting = pool.queue.enter(deadline, undefined, holder);
    if (waiting !== undefined) await waiting;
    has_slot = true;
    count.wait_ms = performance.now() - entered_at;
    const source = await pool.source();
    const page = createPage(after, count);
    const run = { source, timeout_ms: entry.entity.timeout_ms, signal: deadline, facts, session, pseudonym };
    await streamQuery(entry.plan, values, run, {
      begin: (columns) => page.begin(openFile(columns)),
      async rows(part) {
        deadline.throwIfAborted();
        if (page.add(part)) throw new PageEnd();
      },
    }).catch((error: unknown) => {
      if (!(error instanceof PageEnd)) throw error;
    });
    return page.end();
  } finally {
    if (has_slot) pool.queue.leave();
    pool.release();
  }
}

type File = ReturnType<Awaited<ReturnType<typeof rowFileOf>>>;

/** The rows of one page. The pages of a file one after the other are the file. */
function createPage(after: number, count: Count) {
  let file: File | null = null;
  let text = '';
  let seen = 0;
  let more = false;
  const written = (bytes: Uint8Array): string => Buffer.from(bytes).toString('utf8');
  return {
    begin(opened: File): void {
      file = opened;
      // The header line is on the first page alone.
      const head = written(opened.write([]));
      if (after === 0) text = head;
    },
    /** Returns true when the page is full and a row is left. */
    add(part: readonly Row[]): boolean {
      for (const row of part) {
        if (seen++ < after) continue;
        if (count.rows >= PAGE_ROWS || text.length >= PAGE_CHARACTERS) return (more = true);
        text += file === null ? '' : written(file.write([row]));
        count.rows++;
      }
      return false;
    },
    end() {
      if (file === null) throw new AppError('internal', 'The statement ended without columns.');
      count.bytes = Buffer.byteLength(text);
      return { text, mime_type: file.mime_type, more };
    },
  };
}
