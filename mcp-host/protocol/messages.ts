import type { ErrorCode } from '#core/errors.ts';

/** Levels of the protocol, the least urgent first (RFC 5424). */
export const MCP_LOG_LEVELS = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'] as const;

export type McpLogLevel = (typeof MCP_LOG_LEVELS)[number];

export const isMcpLogLevel = (value: unknown): value is McpLogLevel => MCP_LOG_LEVELS.some((level) => level === value);

/** Whether a message of this level is at least as urgent as `least`. */
export const isUrgent = (level: McpLogLevel, least: McpLogLevel): boolean =>
  MCP_LOG_LEVELS.indexOf(level) >= MCP_LOG_LEVELS.indexOf(least);

/**
 * Revisions of the Model Context Protocol that the host supports: the stateless one, and the ones with an initialize handshake.
 */
export const MODERN_VERSION = '2026-07-28';

export const LEGACY_VERSIONS: readonly string[] = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'];

/** Revisions in which one body may contain several messages. */
export const BATCH_VERSIONS: ReadonlySet<string> = new Set(['2025-03-26', '2024-11-05']);

/** The revision of a legacy request without the version header (2025-06-18, Protocol Version Header). */
export const HEADERLESS_VERSION = '2025-03-26';

export const META = {
  version: 'io.modelcontextprotocol/protocolVersion',
  client: 'io.modelcontextprotocol/clientInfo',
  capabilities: 'io.modelcontextprotocol/clientCapabilities',
  subscription: 'io.modelcontextprotocol/subscriptionId',
  server: 'io.modelcontextprotocol/serverInfo',
  log_level: 'io.modelcontextprotocol/logLevel',
  snapshot: 'sluice/snapshot',
} as const;

/** JSON-RPC error codes and the HTTP status of each in the stateless revision. */
export const RPC = {
  parse_error: -32_700,
  invalid_request: -32_600,
  method_not_found: -32_601,
  invalid_params: -32_602,
  internal: -32_603,
  server: -32_000,
  session_not_found: -32_001,
  resource_not_found_legacy: -32_002,
  header_mismatch: -32_020,
  missing_capability: -32_021,
  unsupported_version: -32_022,
} as const;

export type RpcId = string | number;

/** Most characters of a text that a caller chooses and that is sent back with each message of its request. */
export const ECHO_LENGTH = 1_000;

export const isRpcId = (value: unknown): value is RpcId =>
  typeof value === 'string' ? value.length <= ECHO_LENGTH : Number.isSafeInteger(value);

export type Members = Readonly<Record<string, unknown>>;

export interface RpcMessage {
  readonly id?: RpcId;
  readonly method: string;
  readonly params: Members;
}

/** An error of the protocol. `http_status` applies to a single reply; in a legacy exchange it is mostly 200. */
export class RpcError extends Error {
  override readonly name = 'RpcError';
  readonly code: number;
  readonly http_status: number;
  readonly data: Members | undefined;
  /** Scopes that the caller has to request first. */
  readonly scopes: readonly string[];
  /** The code in the request log. */
  readonly fault: ErrorCode;

  constructor(
    code: number,
    message: string,
    options: { http_status?: number; data?: Members; scopes?: readonly string[]; fault?: ErrorCode } = {},
  ) {
    super(message);
    this.code = code;
    this.http_status = options.http_status ?? 200;
    this.data = options.data;
    this.scopes = options.scopes ?? [];
    this.fault = options.fault ?? 'invalid';
  }
}

/** Makes the client initialise again (2025-11-25, Session Management). */
export const sessionNotFound = (message: string): RpcError =>
  new RpcError(RPC.session_not_found, message, { http_status: 404, fault: 'cancelled' });

export const isMembers = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A request or notification from parsed JSON; null for a response to a request of the host. */
export function toMessage(value: unknown): RpcMessage | null {
  if (!isMembers(value) || value['jsonrpc'] !== '2.0') throw invalidRequest('The body is not a JSON-RPC 2.0 message.');
  const { id, method } = value;
  const params = value['params'] ?? {};
  if (method === undefined && ('result' in value || 'error' in value)) return null;
  if (typeof method !== 'string') throw invalidRequest('The message has no method.');
  if (!isMembers(params)) throw new RpcError(RPC.invalid_params, 'params must be an object.', { http_status: 400 });
  if (!('id' in value)) return { method, params };
  if (!isRpcId(id)) throw invalidRequest(`id must be a whole number or a string of at most ${ECHO_LENGTH} characters.`);
  return { id, method, params };
}

const invalidRequest = (message: string) => new RpcError(RPC.invalid_request, message, { http_status: 400 });

/** The beginning of a JSON-RPC response, before the members of its result. */
export const resultHead = (id: RpcId): string =>
  `{"jsonrpc":"2.0","id":${typeof id === 'number' ? id : JSON.stringify(id)},"result":{`;

export const RESULT_TAIL = '}}';

/** A JSON-RPC response as text. */
export const resultText = (id: RpcId, members: string): string => `${resultHead(id)}${members}${RESULT_TAIL}`;

export const errorText = (id: RpcId | null, { code, message, data }: RpcError): string =>
  JSON.stringify({ jsonrpc: '2.0', id, error: { code, message, ...(data && { data }) } });
