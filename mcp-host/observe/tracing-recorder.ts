import { withTimeout } from '#core/lib/with-timeout.ts';
import {
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  type Attributes,
  createTraceState,
  type Context,
  type Link,
} from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { CompressionAlgorithm } from '@opentelemetry/otlp-exporter-base';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { BatchSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import { kindOf, portOf } from '#core/engines/index.ts';
import type { Log } from '#core/process/log.ts';
import { PRODUCT_VERSION } from '#core/process/version.ts';
import { errorType } from './metrics.ts';
import { isMembers, MODERN_VERSION } from '#mcp-host/protocol/messages.ts';
import { methodLabel, type RequestRecord, sessionDigest, clientOf } from '#mcp-host/requests/request-record.ts';
import { normalUri } from '#core/lib/uri-template.ts';
import { outcomeOf } from '#core/contract/observe/outcomes.ts';

/** A collector of traces that speaks OTLP over HTTP. */
export interface Collector {
  /** Base address. */
  readonly endpoint: string;
  /** Sent with every request to the collector, such as a key. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Share of the requests that are traced, from 0 to 1, besides failed ones and those that continue a trace. */
  readonly sampling?: number;
  readonly compression?: 'none' | 'gzip';
}

/** Records spans with the OpenTelemetry library, which is loaded only if tracing is on. */
export interface Recorder {
  record(record: RequestRecord, ended: number): void;
  close(): Promise<void>;
}

/** An export that takes longer fails. The library limits the number of waiting spans to 2 048. */
const EXPORT_MS = 5_000;

const BATCH_MS = 500;

const CLOSE_MS = 2_000;

/** Longest part of a request id in a span, in characters, because callers choose the id. */
const LONGEST_ID = 128;

/**
 * Records spans after the conventions for MCP (status Development) and for databases. They are created after a request has ended,
 * from its recorded times, so that no request waits for them. Arguments, results and the text of statements are never recorded.
 */
interface RecorderOptions {
  readonly collector: Collector;
  readonly id: string;
  readonly service: string;
  readonly log: Log;
}

export function createRecorder(options: RecorderOptions): Recorder {
  const { collector, id, service, log } = options;
  const { endpoint, headers = {}, sampling = 1, compression = 'none' } = collector;
  const url = endpoint.endsWith('/v1/traces') ? endpoint : `${endpoint}/v1/traces`;
  const inner = new OTLPTraceExporter({
    url,
    headers: { ...headers },
    timeoutMillis: EXPORT_MS,
    compression: compression === 'gzip' ? CompressionAlgorithm.GZIP : CompressionAlgorithm.NONE,
  });
  let failing = false;
  const exporter: typeof inner = Object.assign(Object.create(inner) as typeof inner, {
    export: (...[spans, done]: Parameters<typeof inner.export>) =>
      inner.export(spans, (result) => {
        const failed = result.error !== undefined;
        if (failed && !failing) log.warning('traces_not_sent', { reason: result.error?.message });
        if (!failed && failing) log.info('traces_sent_again');
        failing = failed;
        done(result);
      }),
  });
  const provider = new TracerProvider({
    resource: resourceFromAttributes({
      'service.name': service,
      'service.version': PRODUCT_VERSION,
      'service.instance.id': id,
    }),
    spanProcessors: [
      new BatchSpanProcessor({ exporter, scheduledDelayMillis: BATCH_MS, exportTimeoutMillis: EXPORT_MS, maxQueueSize: 2_048 }),
    ],
  });
  const tracer = provider.getTracer('sluice', PRODUCT_VERSION);

  return {
    record(record, ended) {
      const { message, exchange, started, query_from, query_to, connection, fault } = record;
      const { params } = message;
      const method = methodLabel(record);
      const { registry, request } = exchange;
      const given = params['name'];
      const known = typeof given === 'string' && (registry.tools.has(given) || registry.prompts.has(given)) ? given : null;
      const http = contextOf(request.headers.get('traceparent'), request.headers.get('tracestate'));
      const meta = isMembers(params['_meta']) ? params['_meta'] : {};
      const parent = contextOf(meta['traceparent'], meta['tracestate']);
      const type = errorType(record);
      // The request has ended, so failed requests are recorded whatever the share is.
      if (parent === null && http === null && type === '' && Math.random() >= sampling) return;
      const span = tracer.startSpan(
        known === null ? method : `${method} ${known}`,
        {
          kind: SpanKind.SERVER,
          startTime: wall(started),
          attributes: { ...attributesOf(record, known, type), ...callAttributes(record) },
          // The trace in the message is the parent; the trace of the HTTP request becomes a link (SEP-414).
          links: parent === null ? [] : linksOf(http),
        },
        parent ?? http ?? ROOT_CONTEXT,
      );
      if (record.logged !== null) record.logged.trace_id = span.spanContext().traceId;
      if (connection !== null && query_to > 0) {
        const command = commandOf(record);
        const system = kindOf(connection.db_type).kind.telemetry;
        const port = portOf(connection);
        const failed = fault !== null;
        const child = tracer.startSpan(
          command ?? system,
          {
            kind: SpanKind.CLIENT,
            startTime: wall(query_from),
            attributes: {
              'db.system.name': system,
              'db.namespace': connection.database,
              ...(command !== null && { 'db.operation.name': command, 'db.query.summary': command }),
              ...(connection.host !== null && { 'server.address': connection.host }),
              ...(port !== null && { 'server.port': port }),
              ...(record.logged !== null && { 'db.response.returned_rows': record.rows }),
              ...(failed && { 'error.type': fault }),
            },
          },
          trace.setSpan(ROOT_CONTEXT, span),
        );
        if (failed) child.setStatus({ code: SpanStatusCode.ERROR });
        child.end(wall(query_to));
      }
      if (type !== '') span.setStatus({ code: SpanStatusCode.ERROR });
      span.end(wall(ended));
    },
    async close() {
      const closed = provider.shutdown().catch((error: unknown) => log.warning('traces_not_sent', { reason: String(error) }));
      await withTimeout(closed, CLOSE_MS, () => undefined);
    },
  };
}

function attributesOf(record: RequestRecord, known: string | null, type: string): Attributes {
  const { message, exchange, protocol, session, wait_ms } = record;
  const { params, id } = message;
  const method = methodLabel(record);
  const { address } = exchange;
  const { listener } = exchange.peer;
  const is_tool = method === 'tools/call';
  const uri = method === 'resources/read' ? params['uri'] : undefined;
  const version = protocol.modern ? MODERN_VERSION : session?.version;
  const peer = listener === 0 ? '' : address();
  return {
    'mcp.method.name': method,
    ...(id !== undefined && { 'jsonrpc.request.id': String(id).slice(0, LONGEST_ID) }),
    ...(known !== null && { [is_tool ? 'gen_ai.tool.name' : 'gen_ai.prompt.name']: known }),
    ...(is_tool && { 'gen_ai.operation.name': 'execute_tool' }),
    // The URI of a template may contain values of arguments.
    ...(typeof uri === 'string' && exchange.registry.resources.has(normalUri(uri)) && { 'mcp.resource.uri': uri }),
    ...(version !== undefined && { 'mcp.protocol.version': version }),
    ...(session !== null && { 'mcp.session.id': sessionDigest(session) }),
    ...(peer !== '' && { 'client.address': peer }),
    'network.transport': listener === 0 ? 'pipe' : 'tcp',
    ...(listener !== 0 && { 'network.protocol.name': 'http' }),
    ...(wait_ms > 0 && { 'sluice.queue.wait_ms': wait_ms }),
    ...(type !== '' && { 'error.type': type }),
    ...(/^-\d+$/.test(type) && { 'rpc.response.status_code': type }),
  };
}

/** Fields that are in the request log too: how a call ended, what it cost, and its caller. Never arguments, values or answers. */
function callAttributes(record: RequestRecord): Attributes {
  const { logged, query_from, query_to, confirmation, exchange } = record;
  if (logged === null) return {};
  const { token_prefix, ids } = exchange.caller;
  const client = clientOf(record);
  return {
    'sluice.outcome': outcomeOf(logged.fault?.code ?? null),
    ...(query_to > 0 && { 'sluice.database.duration_ms': query_to - query_from }),
    'sluice.result.rows': logged.rows,
    'sluice.result.bytes': logged.bytes,
    'sluice.result.tokens': logged.tokens,
    ...(confirmation !== null && { 'sluice.confirmation': confirmation }),
    ...(client !== '' && { 'sluice.client': client }),
    ...(token_prefix !== null && { 'sluice.caller': token_prefix }),
    ...(ids?.token != null && { 'sluice.token.id': ids.token }),
    ...(ids?.person != null && { 'enduser.id': ids.person }),
    ...(ids?.client_id != null && { 'sluice.client.id': ids.client_id }),
  };
}

/** The first word of the statement. The rest of its text is not recorded. */
function commandOf({ query }: RequestRecord): string | null {
  const first = query?.statement.nodes[0];
  const word = typeof first === 'string' ? /^\s*([a-z]{1,20})\b/i.exec(first)?.[1] : undefined;
  return word?.toUpperCase() ?? null;
}

const TRACEPARENT = /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:-|$)/;

/** W3C Trace Context, as received; null when it is missing or invalid. */
function contextOf(traceparent: unknown, tracestate: unknown): Context | null {
  const [, traceId = '', spanId = '', flags = ''] =
    typeof traceparent === 'string' && traceparent.length <= 128 ? (TRACEPARENT.exec(traceparent) ?? []) : [];
  if (traceId === '' || /^0+$/.test(traceId) || /^0+$/.test(spanId)) return null;
  const state = typeof tracestate === 'string' && tracestate.length <= 512 ? createTraceState(tracestate) : undefined;
  const traceFlags = Number.parseInt(flags, 16) & 1;
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags, isRemote: true, ...(state && { traceState: state }) });
}

const linksOf = (context: Context | null): Link[] => {
  const linked = context === null ? undefined : trace.getSpanContext(context);
  return linked === undefined ? [] : [{ context: linked }];
};

/** Converts a time of `performance.now()` to ms since 1970, which the library expects. */
const wall = (at: number): number => performance.timeOrigin + at;
