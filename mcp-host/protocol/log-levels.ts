/** Levels of the protocol, the least urgent first (RFC 5424). */
export const MCP_LOG_LEVELS = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'] as const;
export type McpLogLevel = (typeof MCP_LOG_LEVELS)[number];

export const isMcpLogLevel = (value: unknown): value is McpLogLevel => MCP_LOG_LEVELS.some((level) => level === value);

/** Whether a message of this level is for whoever wants those from `least` on. */
export const isUrgent = (level: McpLogLevel, least: McpLogLevel): boolean =>
  MCP_LOG_LEVELS.indexOf(level) >= MCP_LOG_LEVELS.indexOf(least);
