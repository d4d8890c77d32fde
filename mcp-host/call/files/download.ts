import { setImmediate as yieldTurn } from 'node:timers/promises';
import { AppError } from '#core/errors.ts';
import { Stop } from '#core/engines/shared/stop.ts';
import { type Endpoint, endpointOf } from '#core/edge/mcp-endpoint.ts';
import type { Log } from '#core/process/log.ts';
import { rowFileOf } from '#core/query/files/formats.ts';
import type { RowFile } from '#core/query/files/row-file.ts';
import { streamQuery } from '#core/query/files/stream-query.ts';
import type { Pseudonym } from '#core/query/masks.ts';
import { sessionOf } from '#core/query/session.ts';
import type { Auth } from '#mcp-host/auth/authenticate.ts';
import { type Caller, holderOf } from '#mcp-host/auth/caller.ts';
import { FULL_RIGHTS } from '#mcp-host/auth/rights.ts';
import type { RequestOrigin } from '#mcp-host/auth/scheme.ts';
import type { FrozenConnection, FrozenServer } from '#snapshots/format/format.ts';
import type { ConnectionPools } from '#mcp-host/connections/connection-pools.ts';
import type { RateLimits } from '#mcp-host/limits/rate-limit.ts';
import type { Usage } from '#mcp-host/observe/usage.ts';
import type { Registry, ToolEntry } from '#mcp-host/registry/registry.ts';
import type { Viewer, Views } from '#mcp-host/registry/views.ts';
import { createDownloadStream, type DownloadStream } from './download-stream.ts';
import { definitionOf, type FileLinks, offersFile, type SealedCall } from './file-links.ts';
import type { FileUses } from './file-uses.ts';

/** The connection of a request, whose idle timeout a download suspends. */
interface OpenConnection {
  hold(): void;
  release(): void;
}

/** Answers a request for a file. @param sealed the part of the path after `FILE_PATH`. */
export type AnswerDownload = (
  sealed: string,
  request: Request,
  from: Omit<RequestOrigin, 'path' | 'is_sse'>,
  peer: OpenConnection,
) => Promise<Response>;

export interface Downloads {
  readonly answer: AnswerDownload;
  /** Opens an address. Throws unless its caller would still get its file. */
  readonly grant: (sealed: string) => Grant;
  /** Breaks all downloads. */
  end(reason: string): void;
}

export interface DownloadOptions {
  readonly links: FileLinks;
  readonly uses: FileUses;
  readonly auth: Pick<Auth, 'readmit' | 'authenticate'>;
  /** What a viewer is served, or why nothing is served. */
  readonly seenBy: (viewer: Viewer) => Registry | { readonly idle: string };
  readonly views: Views;
  /** Sessions apart from those of calls. */
  readonly pools: ConnectionPools;
  readonly limits: Pick<RateLimits, 'take'>;
  readonly usage: Pick<Usage, 'add'>;
  readonly pseudonym: Pseudonym;
  readonly log: Log;
  readonly now: () => number;
}

/** The longest time of a download. Its statement gets the same time. */
const LONGEST_MS = 30 * 60_000;
/** How often a running download checks that its caller may still have the file. */
const CHECK_MS = 1_000;
/** The defaults of the settings, which are absent then. */
const MAX_ROWS = 5_000_000;
const MAX_BYTES = 2 * 1024 * 1024 * 1024;
const SLOTS = 1;
/** Rows that are written in one slice: a fraction of a millisecond. */
const SLICE_ROWS = 250;
/** Bytes that are gathered before they are sent. */
const CHUNK_BYTES = 128 * 1024;

/** Why there is no file, for the log: the caller learns nothing. */
export class NoFile extends Error {}

/** An opened address, whose caller may have the file now. */
export interface Grant {
  readonly sealed: SealedCall;
  readonly granted: Granted;
}

/** What a caller may download now. */
interface Granted {
  readonly caller: Caller;
  readonly endpoint: Endpoint;
  readonly view: Registry;
  readonly entry: ToolEntry;
}

/** The same limits as for calls, for sessions that only downloads use. */
export const ofFiles = (connection: FrozenConnection, { files_slots = SLOTS }: FrozenServer): FrozenConnection => ({
  ...connection,
  pool_size: files_slots,
  max_concurrency: files_slots,
  pool_key: `${connection.pool_key}/files/${files_slots}`,
});

export function createDownloads(options: DownloadOptions): Downloads {
  const { links, uses, auth, seenBy, views, log } = options;
  const running = new Set<Stop>();

  /** Throws unless the sealed caller would still get this file from its endpoint. */
  const grantOf = (sealed: SealedCall): Granted => {
    const endpoint = endpointOf(sealed.path);
    if (endpoint === null) throw new NoFile('unknown endpoint');
    const served = seenBy({ rights: FULL_RIGHTS, endpoint });
    if ('idle' in served) throw new NoFile('nothing is served');
    const caller = auth.readmit(sealed, served.server, sealed.passport);
    if (caller === null) throw new NoFile('the caller is no longer admitted');
    const { rights } = caller;
    const registry = seenBy({ rights, endpoint, key: caller.owner });
    const view = 'idle' in registry ? null : views.of(registry, { rights, endpoint });
    const entry = view?.tools.get(sealed.tool);
    if (view === null || entry === undefined) throw new NoFile('the caller no longer has the tool');
    if (entry.entity.files !== sealed.format || definitionOf(entry) !== sealed.definition)
      throw new NoFile('the tool has changed');
    if (!offersFile(view, entry)) throw new NoFile('no toolset of the caller has files');
    return { caller, endpoint, view, entry };
  };

  /** A request with a credential has to be one of the sealed caller. */
  const checkBearer = async (request: Request, { caller, endpoint, view }: Granted, from: Parameters<AnswerDownload>[2]) => {
    if (!/^bearer /i.test(request.headers.get('authorization') ?? '')) return;
    const shown = await auth.authenticate(request, view.server, { ...from, path: endpoint.path, is_sse: false });
    if (shown instanceof Response || shown.owner !== caller.owner) throw new NoFile('another caller');
  };

  const answer: AnswerDownload = async (text, request, from, peer) => {
    if (request.method !== 'GET') return plain(405, 'Use GET.', { allow: 'GET' });
    const { request_id } = from;
    let tool: string | null = null;
    try {
      const sealed = links.open(text);
      if (sealed === null) throw new NoFile('the address is not valid or has expired');
      ({ tool } = sealed);
      const granted = grantOf(sealed);
      await checkBearer(request, granted, from);
      if (!(await uses.take(sealed.nonce))) throw new NoFile('the address is used up');
      const stop = new Stop();
      running.add(stop);
      return await begin(
        { ...options, sealed, granted, request, peer, address: from.address, stop, check: () => void grantOf(sealed) },
        () => running.delete(stop),
      );
    } catch (error) {
      const reason = error instanceof NoFile ? error.message : error instanceof AppError ? error.code : String(error);
      log.info('no_file', { tool, reason, request_id });
      return plain(404, 'There is no file at this address.');
    }
  };
  return {
    answer,
    grant(text) {
      const sealed = links.open(text);
      if (sealed === null) throw new NoFile('the address is not valid or has expired');
      return { sealed, granted: grantOf(sealed) };
    },
    end(reason) {
      for (const stop of running) stop.abort(new AppError('unavailable', reason));
    },
  };
}

interface Download extends DownloadOptions {
  readonly sealed: SealedCall;
  readonly granted: Granted;
  readonly request: Request;
  readonly peer: OpenConnection;
  readonly address: () => string;
  readonly stop: Stop;
  /** Throws when the caller may no longer have the file. */
  readonly check: () => void;
}

/** Starts the statement. Resolves with the response once the first rows are there, so that a statement that fails is a 404. */
async function begin(download: Download, onEnd: () => void): Promise<Response> {
  const { granted, sealed, request, peer, stop, limits, address } = download;
  const { caller, entry } = granted;
  const leave = () => stop.abort(new AppError('cancelled', 'The reader of the download left.'));
  request.signal.addEventListener('abort', leave, { once: true });
  // A slow reader has separate limits.
  peer.hold();
  const stream = createDownloadStream((reason) => stop.abort(reason));
  const started = Promise.withResolvers<RowFile>();
  const count = { rows: 0, bytes: 0, wait_ms: 0, started: performance.now() };
  const run = async (): Promise<void> => {
    const turn = limits.take(entry.entity, () => holderOf(caller, address));
    if (turn !== undefined) await turn;
    await send(download, stream, started.resolve, count);
  };
  void run()
    .then(
      () => {
        stream.end();
        recordDownload(download, count, null);
      },
      (error: unknown) => {
        started.reject(error);
        stream.fail(error);
        recordDownload(download, count, stop.aborted ? stop.reason : error);
      },
    )
    .finally(() => {
      request.signal.removeEventListener('abort', leave);
      peer.release();
      onEnd();
    });
  const { mime_type } = await started.promise;
  const disposition = `attachment; filename="${sealed.tool}.${sealed.format}"`;
  return new Response(stream.body, {
    headers: { 'content-type': mime_type, 'content-disposition': disposition, ...HEADERS },
  });
}

export interface Count {
  rows: number;
  bytes: number;
  wait_ms: number;
  readonly started: number;
}

/** Runs the statement in a slot for downloads, and sends its rows as they arrive. */
async function send(download: Download, stream: DownloadStream, start: (file: RowFile) => void, count: Count): Promise<void> {
  const { granted, sealed, stop, check, pools, now, pseudonym, address } = download;
  const { caller, view, entry } = granted;
  const { server, vars } = view;
  const { files_max_rows = MAX_ROWS, files_max_bytes = MAX_BYTES } = server;
  const facts = { arguments: sealed.args, vars, caller, call: { time: now(), id: crypto.randomUUID() } };
  const values = await entry.plan.resolve(facts);
  const session = sessionOf(entry.connection, facts);
  const openFile = await rowFileOf(sealed.format);
  const pool = pools.hold(ofFiles(entry.connection, server));
  const entered_at = performance.now();
  let has_slot = false;
  try {
    const turn = pool.queue.enter(stop, undefined, () => holderOf(caller, address));
    if (turn !== undefined) await turn;
    has_slot = true;
    count.wait_ms = performance.now() - entered_at;
    const source = await pool.source();
    const open: { file: RowFile | null } = { file: null };
    let checked_at = performance.now();
    const pending = createChunk((bytes) => stream.send(bytes));
    const run = { source, timeout_ms: LONGEST_MS, signal: stop, facts, session, pseudonym };
    await streamQuery(entry.plan, values, run, {
      begin(columns) {
        open.file = openFile(columns);
      },
      async rows(part) {
        stop.throwIfAborted();
        const { file } = open;
        if (file === null) throw new AppError('internal', 'Rows came before their columns.');
        if (performance.now() - checked_at >= CHECK_MS) {
          check();
          checked_at = performance.now();
        }
        count.rows += part.length;
        if (count.rows > files_max_rows) throw tooLarge('files_max_rows', files_max_rows);
        start(file);
        for (let from = 0; from < part.length; from += SLICE_ROWS) {
          const bytes = file.write(part.slice(from, from + SLICE_ROWS));
          count.bytes += bytes.byteLength;
          if (count.bytes > files_max_bytes) throw tooLarge('files_max_bytes', files_max_bytes);
          await pending.add(bytes);
          // Calls that arrived during this slice come first.
          await yieldTurn();
        }
      },
    });
    const { file } = open;
    if (file === null) throw new AppError('internal', 'The statement ended without columns.');
    start(file);
    const last = file.end();
    count.bytes += last.byteLength;
    await pending.add(last);
    await pending.flush();
  } finally {
    if (has_slot) pool.queue.leave();
    pool.release();
  }
}

/** Gathers bytes, because each chunk of an answer costs a system call. */
function createChunk(write: (bytes: Uint8Array) => Promise<void>) {
  let held: Uint8Array[] = [];
  let size = 0;
  const flush = async (): Promise<void> => {
    const bytes = held.length === 1 && held[0] !== undefined ? held[0] : Buffer.concat(held);
    held = [];
    size = 0;
    await write(bytes);
  };
  return {
    flush,
    async add(bytes: Uint8Array): Promise<void> {
      held.push(bytes);
      size += bytes.byteLength;
      if (size >= CHUNK_BYTES) await flush();
    },
  };
}

const tooLarge = (limit: string, most: number): AppError =>
  new AppError('too_large', `The download was broken off at ${limit} (${most}), so the file is not complete.`);

/** Adds the download to the request log. */
export function recordDownload(
  { granted, sealed, usage, log, now }: Grant & Pick<DownloadOptions, 'usage' | 'log' | 'now'>,
  count: Count,
  error: unknown,
  client = `download (${sealed.format})`,
): void {
  const { caller, view, entry } = granted;
  const { entity, connection } = entry;
  const duration_ms = Math.round(performance.now() - count.started);
  const code = error === null ? null : error instanceof AppError ? error.code : 'internal';
  const message =
    error instanceof AppError && SPOKEN.has(error.code) ? error.detail : 'The download failed. See the log of the host.';
  const { rows, bytes } = count;
  log.info('download', { tool: entity.name, format: sealed.format, rows, bytes, duration_ms, error: code });
  if (code !== null && error instanceof Error && !SPOKEN.has(code))
    log.warning('download_failed', { tool: entity.name, error: error.message });
  usage.add({
    of: {
      kind: 'tool',
      name: entity.name,
      entity_id: entity.id,
      connection_id: connection.id,
      snapshot_version: view.snapshot_version,
      client,
      token_prefix: caller.token_prefix,
      ...(caller.ids !== undefined && { caller: caller.ids }),
    },
    timestamp: now(),
    duration_ms,
    wait_ms: Math.round(count.wait_ms),
    database_ms: 0,
    rows,
    bytes,
    truncated: code === 'too_large',
    tokens: 0,
    fault: code === null ? null : { code, message, sqlstate: null },
    trace_id: null,
    ignored_arguments: [],
    arguments: null,
  });
}

/** Codes whose sentences contain nothing of a row. */
const SPOKEN: ReadonlySet<string> = new Set([
  'cancelled',
  'timeout',
  'too_large',
  'unavailable',
  'queue_full',
  'no_free_slot',
  'rate_limited',
]);

const HEADERS = {
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
};

const plain = (status: number, text: string, headers: Readonly<Record<string, string>> = {}): Response =>
  new Response(`${text}\n`, { status, headers: { 'content-type': 'text/plain; charset=utf-8', ...HEADERS, ...headers } });
