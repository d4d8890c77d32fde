import type { Handlers } from './run.ts';
import { agentActivityHandlers } from './observe/agent-activity.ts';
import { agentCredentialHandlers } from './identity/agent-credentials.ts';
import { agentToolHandlers } from './definitions/agent-tools.ts';
import { authHandlers } from './identity/auth.ts';
import { batchToolHandlers } from './definitions/batch-tools.ts';
import { configHandlers } from './definitions/settings/config.ts';
import { connectionHandlers } from './definitions/connections.ts';
import { deployHandlers } from './deploy/deploys.ts';
import { flowHandlers } from './definitions/flow.ts';
import { historyHandlers } from './observe/history-handlers.ts';
import { mcpTokenHandlers } from './identity/mcp-tokens.ts';
import { monitoringHandlers } from './observe/monitoring.ts';
import { guardHandlers } from './definitions/guard/guard.ts';
import { previewHandlers } from './definitions/preview.ts';
import { previewDefinitionHandlers } from './definitions/preview-definitions.ts';
import { prompt } from './definitions/prompts.ts';
import { resource } from './definitions/resources.ts';
import { schemaHandlers } from './definitions/schema.ts';
import { serverHandlers } from './deploy/server.ts';
import { snapshotHandlers } from './deploy/snapshots.ts';
import { sslHandlers } from './deploy/ssl.ts';
import { toolHandlers } from './definitions/tools.ts';
import { transferHandlers } from './transfer/transfer.ts';
import { twoFactorHandlers } from './identity/two-factor.ts';

/** The handler of every operation. */
export const handlers: Handlers = {
  ...authHandlers,
  ...twoFactorHandlers,
  ...connectionHandlers,
  ...toolHandlers,
  ...resource.handlers,
  ...prompt.handlers,
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
