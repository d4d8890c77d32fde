import { fromEvents, parse, readAnswer } from './events.ts';
import { isMembers, type Members } from '#core/lib/view/table.ts';
import { withoutCode } from '#core/client/client.ts';
import type { Send } from '#ui/src/kernel/data/session-gate.ts';
import { OFFLINE } from '#ui/src/kernel/problem.ts';
import { formIn, type Question, questionIn, responseOf, type PersonAnswer } from './questions.ts';
/** Protocol versions of the playground: the stateless one, and the newest with sessions. */
export const ERAS = ['2026-07-28', '2025-11-25'] as const;
export type Era = (typeof ERAS)[number];

const META = {
  version: 'io.modelcontextprotocol/protocolVersion',
  client: 'io.modelcontextprotocol/clientInfo',
  capabilities: 'io.modelcontextprotocol/clientCapabilities',
} as const;
/** The playground's name in the request log. */
export const CLIENT = { name: 'sluice-playground', title: 'Sluice playground', version: '1' };

/** The playground renders results like clients with MCP Apps, so it declares the same capability. */
const APPS = { extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html;profile=mcp-app'] } } };

const PLAYGROUND_PATH = '/api/v1/playground/mcp';
/** Response header with the host that answered; without it the server answered. */
const HOST = 'x-sluice-host';
const CALLER = 'x-sluice-caller';
const SESSION = 'mcp-session-id';
/** Response headers of the protocol; the other ones concern the transport. */
const SHOWN = ['content-type', 'cache-control', SESSION, 'retry-after', 'www-authenticate', 'allow'];

/** A message and its answer as sent over the wire. */
export interface Exchange {
  /** `tools/call`, or the kind of request if it has no message. */
  readonly method: string;
  readonly request: {
    readonly verb: 'POST' | 'DELETE';
    readonly headers: Readonly<Record<string, string>>;
    readonly body: string;
  };
  readonly answer:
    | {
        readonly status: number;
        readonly headers: Readonly<Record<string, string>>;
        readonly body: string;
        readonly bytes: number;
      }
    | undefined;
  readonly at: string;
  /** From sending to the last byte. */
  readonly ms: number;
}

export interface Refusal {
  /** `unauthorized`: the host wants another token. `session`: this browser is signed out. `gone`: the named host is not connected. */
  readonly reason: 'unauthorized' | 'gone' | 'session' | 'rpc' | 'http' | 'offline' | 'aborted';
  readonly code?: number;
  readonly detail: string;
}

/** Title of a call without a result. */
export const refusalTitle = ({ reason }: Refusal): string =>
  reason === 'aborted'
    ? 'The call was cancelled'
    : reason === 'offline'
      ? 'The call got no answer'
      : 'The server refused the call';

export type Answer = { readonly ok: true; readonly result: Members } | { readonly ok: false; readonly refusal: Refusal };

interface McpClient {
  request(method: string, params: Members, signal?: AbortSignal): Promise<Answer>;
  /** All pages of a list. */
  list(method: string, member: string, signal?: AbortSignal): Promise<Answer & { items?: readonly Members[] }>;
  /** Ends the session, when there is one. */
  close(): Promise<void>;
  /** The host that answered last. */
  host(): string | undefined;
}

export interface McpClientOptions {
  readonly era: Era;
  /** Access token of the MCP server; empty: none. */
  readonly token: () => string;
  /** The caller of the messages; undefined: the signed-in person. */
  readonly caller?: () => object | undefined;
  readonly host?: string | undefined;
  readonly onExchange: (exchange: Exchange) => void;
  /** Shows a tool's question to the person; absent: questions are not supported. */
  readonly onQuestion?: (question: Question) => Promise<PersonAnswer>;
  readonly onSessionEnd?: () => void;
  readonly send: Send;
}

const MOST_PAGES = 20;
/** Rows may change before the person answers, which repeats the question. */
const MOST_QUESTIONS = 5;

/** A client of the deployed MCP endpoint, in either protocol version, through the server of this page. */
export function createMcpClient(options: McpClientOptions): McpClient {
  const { era, token, send, onExchange, onQuestion, onSessionEnd } = options;
  const modern = era === '2026-07-28';
  const forms = onQuestion === undefined ? {} : { elicitation: modern ? { form: {} } : {} };
  const capabilities = { ...APPS, ...forms };
  let session: string | undefined;
  let host = options.host;
  let last_id = 0;

  const exchange = async (
    verb: 'POST' | 'DELETE',
    message: Members,
    more: Readonly<Record<string, string>>,
    signal?: AbortSignal,
  ): Promise<Exchange> => {
    const unnamed = verb === 'POST' ? 'answer to a question' : 'end of the session';
    const method = typeof message['method'] === 'string' ? message['method'] : unnamed;
    const body = verb === 'POST' ? JSON.stringify(message) : '';
    const headers: Record<string, string> = {
      accept: 'application/json, text/event-stream',
      ...(verb === 'POST' ? { 'content-type': 'application/json' } : {}),
      ...more,
    };
    const bearer = token().trim();
    const caller = bearer === '' ? options.caller?.() : undefined;
    if (caller !== undefined) headers[CALLER] = encodeURIComponent(JSON.stringify(caller));
    const at = new Date().toISOString();
    const began = performance.now();
    const path = `${PLAYGROUND_PATH}${host === undefined ? '' : `?host=${encodeURIComponent(host)}`}`;
    const done = (answer: Exchange['answer']): Exchange => {
      const shown = bearer === '' ? headers : { ...headers, authorization: 'Bearer …' };
      const exchanged = {
        method,
        request: { verb, headers: shown, body },
        answer,
        at,
        ms: performance.now() - began,
      };
      onExchange(exchanged);
      return exchanged;
    };
    try {
      const response = await send(path, {
        method: verb,
        headers: bearer === '' ? headers : { ...headers, authorization: `Bearer ${bearer}` },
        ...(verb === 'POST' ? { body } : {}),
        ...(signal === undefined ? {} : { signal }),
      });
      const answered_by = response.headers.get(HOST);
      if (answered_by !== null) host = answered_by;
      const text = await readAnswer(response, (request) => void answerSession(request, signal).catch(() => undefined));
      const shown_headers = SHOWN.flatMap((name) => {
        const value = response.headers.get(name);
        return value === null ? [] : [[name, value]];
      });
      const from = answered_by === null ? {} : { [HOST]: answered_by };
      return done({
        status: response.status,
        headers: { ...Object.fromEntries(shown_headers), ...from },
        body: text,
        bytes: new TextEncoder().encode(text).byteLength,
      });
    } catch (fault) {
      done(undefined);
      throw fault;
    }
  };

  /** With a session, the question arrives on the stream of the call, and the answer is a separate request. */
  const answerSession = async ({ id, params }: Members, signal?: AbortSignal): Promise<void> => {
    const question = formIn(params);
    const result = responseOf(question === undefined ? null : ((await onQuestion?.(question)) ?? null));
    await exchange('POST', { jsonrpc: '2.0', id, result }, headersFor('', {}), signal);
  };

  const headersFor = (method: string, params: Members): Record<string, string> => {
    if (!modern) return { 'mcp-protocol-version': era, ...(session === undefined ? {} : { [SESSION]: session }) };
    const named = params['name'] ?? params['uri'];
    const name = NAMED.has(method) && typeof named === 'string' ? { 'mcp-name': encoded(named) } : {};
    return { 'mcp-protocol-version': era, 'mcp-method': method, ...name };
  };

  const post = async (method: string, params: Members, signal?: AbortSignal): Promise<Answer> => {
    last_id += 1;
    const id = last_id;
    const meta = {
      [META.version]: era,
      [META.client]: CLIENT,
      [META.capabilities]: capabilities,
    };
    const message = { jsonrpc: '2.0', id, method, params: modern ? { ...params, _meta: meta } : params };
    const headers = method === 'initialize' ? {} : headersFor(method, params);
    const { answer } = await exchange('POST', message, headers, signal);
    const opened = answer?.headers[SESSION];
    if (opened !== undefined) session = opened;
    return toAnswer(answer, id);
  };

  /** The handshake of the revisions before 2026-07-28. */
  const initialize = async (signal?: AbortSignal): Promise<Answer> => {
    const answer = await post('initialize', { protocolVersion: era, capabilities, clientInfo: CLIENT }, signal);
    if (!answer.ok || session === undefined) return answer;
    await exchange('POST', { jsonrpc: '2.0', method: 'notifications/initialized' }, headersFor('', {}), signal);
    return answer;
  };
  let handshake: Promise<Answer> | undefined;

  const request = async (method: string, params: Members, signal?: AbortSignal): Promise<Answer> => {
    try {
      if (!modern && session === undefined) {
        handshake ??= initialize(signal).finally(() => (handshake = undefined));
        const begun = await handshake;
        if (!begun.ok) return noticeSessionEnd(begun);
      }
      const used = session;
      const answer = await withAnswers(method, params, await post(method, params, signal), signal);
      if (answer.ok || used !== session || !isToAskAgain(answer.refusal)) return noticeSessionEnd(answer);
      session = undefined;
      host = options.host;
      return await request(method, params, signal);
    } catch (fault) {
      return { ok: false, refusal: toRefusal(fault) };
    }
  };
  /** The session is unknown, since the host restarted or the session timed out; or the host that answered before is gone. */
  const isToAskAgain = ({ code, reason }: Refusal): boolean =>
    (!modern && code === SESSION_NOT_FOUND) || (reason === 'gone' && host !== options.host);
  /** Repeats the request with the person's answers until there is a result. */
  const withAnswers = async (method: string, params: Members, first: Answer, signal?: AbortSignal): Promise<Answer> => {
    let answer = first;
    if (onQuestion === undefined) return answer;
    for (let round = 0; round < MOST_QUESTIONS; round++) {
      if (!answer.ok) break;
      const [key, question] = questionIn(answer.result) ?? [];
      if (key === undefined || question === undefined) break;
      const response = responseOf(await onQuestion(question));
      signal?.throwIfAborted();
      const { requestState } = answer.result;
      answer = await post(method, { ...params, inputResponses: { [key]: response }, requestState }, signal);
    }
    return answer;
  };
  const noticeSessionEnd = (answer: Answer): Answer => {
    if (!answer.ok && answer.refusal.reason === 'session') onSessionEnd?.();
    return answer;
  };

  return {
    request,
    async list(method, member, signal) {
      const items: Members[] = [];
      let cursor: unknown;
      for (let page = 0; page < MOST_PAGES; page++) {
        const answer = await request(method, cursor === undefined ? {} : { cursor }, signal);
        if (!answer.ok) return answer;
        const part = answer.result[member];
        if (Array.isArray(part)) items.push(...(part as Members[]));
        cursor = answer.result['nextCursor'];
        if (cursor === undefined) return { ...answer, items };
      }
      return { ok: true, result: {}, items };
    },
    async close() {
      if (session === undefined) return;
      const headers = headersFor('', {});
      session = undefined;
      await exchange('DELETE', {}, headers).catch(() => undefined);
    },
    host: () => host,
  };
}

const NAMED: ReadonlySet<string> = new Set(['tools/call', 'prompts/get', 'resources/read']);
const SESSION_NOT_FOUND = -32_001;

/** By the HTTP status of the server's errors. */
const REASONS: Readonly<Record<number, Refusal['reason']>> = { 401: 'session', 404: 'gone' };

function toAnswer(answer: Exchange['answer'], id: number): Answer {
  if (answer === undefined) return { ok: false, refusal: { reason: 'offline', detail: OFFLINE } };
  const { status, headers, body } = answer;
  if (headers[HOST] === undefined) {
    const { detail } = parse(body) ?? {};
    const sentence = typeof detail === 'string' ? detail : withoutCode(status)[1];
    return { ok: false, refusal: { reason: REASONS[status] ?? 'http', detail: sentence } };
  }
  const message = headers['content-type']?.startsWith('text/event-stream') ? fromEvents(body, id) : parse(body);
  const { result, error } = message ?? {};
  if (isMembers(result)) return { ok: true, result };
  const detail = isMembers(error) && typeof error['message'] === 'string' ? error['message'] : `The host answered ${status}.`;
  const code = isMembers(error) && typeof error['code'] === 'number' ? { code: error['code'] } : {};
  return { ok: false, refusal: { reason: status === 401 ? 'unauthorized' : isMembers(error) ? 'rpc' : 'http', ...code, detail } };
}

const toRefusal = (fault: unknown): Refusal =>
  fault instanceof DOMException && fault.name === 'AbortError'
    ? { reason: 'aborted', detail: 'The host cancels its statement in the database.' }
    : { reason: 'offline', detail: OFFLINE };

/** Encodes what is not plain ASCII (2026-07-28, Value Encoding). */
export function encoded(text: string): string {
  if (/^[!-~]([ -~]*[!-~])?$/.test(text) && !text.startsWith('=?')) return text;
  return `=?base64?${btoa(String.fromCharCode(...new TextEncoder().encode(text)))}?=`;
}
