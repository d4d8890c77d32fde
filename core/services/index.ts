import type { Handlers } from '#core/run.ts';
import { agentActivityHandlers } from './agent-activity.ts';
import { agentCredentialHandlers } from './agent-credentials.ts';
import { agentToolHandlers } from './agent-tools.ts';
import { authHandlers } from './auth.ts';
import { batchToolHandlers } from './batch-tools.ts';
import { configHandlers } from './config.ts';
import { connectionHandlers } from './connections.ts';
import { deployHandlers } from './deploys.ts';
import { flowHandlers } from './flow.ts';
import { historyHandlers } from './history-handlers.ts';
import { mcpTokenHandlers } from './mcp-tokens.ts';
import { monitoringHandlers } from './monitoring.ts';
import { guardHandlers } from './guard.ts';
import { previewHandlers } from './preview.ts';
import { previewDefinitionHandlers } from './preview-definitions.ts';
import { promptHandlers } from './prompts.ts';
import { resourceHandlers } from './resources.ts';
import { schemaHandlers } from './schema.ts';
import { serverHandlers } from './server.ts';
import { snapshotHandlers } from './snapshots.ts';
import { sslHandlers } from './ssl.ts';
import { toolHandlers } from './tools.ts';
import { transferHandlers } from './transfer.ts';
import { twoFactorHandlers } from './two-factor.ts';

/** The handler of every operation. */
export const handlers: Handlers = {
  ...authHandlers,
  ...twoFactorHandlers,
  ...connectionHandlers,
  ...toolHandlers,
  ...resourceHandlers,
  ...promptHandlers,
  ...historyHandlers,
  ...transferHandlers,
  ...schemaHandlers,
  ...previewHandlers,
  ...previewDefinitionHandlers,
  ...deployHandlers,
  ...snapshotHandlers,
  ...guardHandlers,
  ...serverHandlers,
  ...sslHandlers,
  ...monitoringHandlers,
  ...mcpTokenHandlers,
  ...agentCredentialHandlers,
  ...agentActivityHandlers,
  ...agentToolHandlers,
  ...batchToolHandlers,
  ...flowHandlers,
  ...configHandlers,
};
