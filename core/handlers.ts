import { bulkHandlers } from './definitions/many/bulk.ts';
import type { Handlers } from './context/context.ts';
import { agentActivityHandlers } from './observe/agent-activity.ts';
import { agentCredentialHandlers } from './identity/agent-credentials.ts';
import { agentToolHandlers } from './definitions/agent-tools.ts';
import { authHandlers } from './identity/auth.ts';
import { progressHandlers } from './records/batch.ts';
import { batchToolHandlers } from './definitions/many/batch-tools.ts';
import { callHandlers } from './observe/calls.ts';
import { canaryHandlers } from './deploy/candidates/canary.ts';
import { candidateHandlers } from './deploy/candidates/candidates.ts';
import { checkTokenHandlers } from './server-config/check-token.ts';
import { confirmationHandlers } from './identity/oauth/confirmations.ts';
import { configHandlers } from './server-config/server-config.ts';
import { connectionHandlers } from './definitions/connections.ts';
import { deployHandlers } from './deploy/deploys.ts';
import { withFindings } from './definitions/lint/findings-of-writes.ts';
import { findHandlers } from './observe/insights/find.ts';
import { insightHandlers } from './observe/insights/insights.ts';
import { fileHandlers } from './definitions/files/files.ts';
import { flowHandlers } from './definitions/flow.ts';
import { historyHandlers } from './observe/history-handlers.ts';
import { providerHandlers } from './identity/providers/providers.ts';
import { driftHandlers } from './deploy/checks/drift.ts';
import { lintHandlers } from './definitions/lint/lint-index.ts';
import { mcpTokenHandlers } from './identity/mcp-tokens.ts';
import { invitationHandlers } from './identity/invitations.ts';
import { identityHandlers } from './identity/providers/identities.ts';
import { invitedHandlers } from './identity/providers/invited.ts';
import { peopleHandlers } from './identity/people.ts';
import { metricsHandlers } from './observe/metrics/metrics.ts';
import { monitoringHandlers } from './observe/monitoring.ts';
import { noticeHandlers } from './observe/notices/notices.ts';
import { noticeEventHandlers } from './observe/notices/events.ts';
import { proposalHandlers } from './proposals/proposals.ts';
import { guardHandlers } from './records/prompt-guard.ts';
import { refusalHandlers } from './observe/refusals.ts';
import { runningCallHandlers } from './observe/running-calls.ts';
import { previewHandlers } from './definitions/preview/preview.ts';
import { explainHandlers } from './definitions/preview/explain.ts';
import { previewDefinitionHandlers } from './definitions/preview/preview-definitions.ts';
import { oauthAttemptHandlers } from './identity/oauth/attempts.ts';
import { oauthAppHandlers } from './identity/oauth/clients/apps.ts';
import { grantHandlers } from './identity/oauth/grants.ts';
import { signingKeyHandlers } from './identity/oauth/key-handlers.ts';
import { oauthRequestHandlers } from './identity/oauth/requests.ts';
import { prompt } from './definitions/prompts.ts';
import { resource } from './definitions/resources.ts';
import { sessionHandlers } from './observe/sessions/session-handlers.ts';
import { trafficHandlers } from './observe/traffic/traffic-handlers.ts';
import { schemaHandlers } from './definitions/schema.ts';
import { serverHandlers } from './deploy/server.ts';
import { replayHandlers } from './deploy/replay/replay.ts';
import { snapshotHandlers } from './deploy/snapshots.ts';
import { sslHandlers } from './server-config/ssl.ts';
import { testHandlers } from './definitions/tests/test-handlers.ts';
import { toolHandlers } from './definitions/tools.ts';
import { toolsetHandlers } from './definitions/toolsets/toolsets.ts';
import { transferHandlers } from './transfer/transfer.ts';
import { twoFactorHandlers } from './identity/two-factor.ts';

/** The handler of every operation. */
export const handlers: Handlers = withFindings({
  ...authHandlers,
  ...twoFactorHandlers,
  ...providerHandlers,
  ...connectionHandlers,
  ...fileHandlers,
  ...toolHandlers,
  ...resource.handlers,
  ...prompt.handlers,
  ...toolsetHandlers,
  ...testHandlers,
  ...bulkHandlers,
  ...historyHandlers,
  ...transferHandlers,
  ...progressHandlers,
  ...schemaHandlers,
  ...previewHandlers,
  ...explainHandlers,
  ...previewDefinitionHandlers,
  ...deployHandlers,
  ...canaryHandlers,
  ...candidateHandlers,
  ...replayHandlers,
  ...snapshotHandlers,
  ...lintHandlers,
  ...driftHandlers,
  ...guardHandlers,
  ...serverHandlers,
  ...sslHandlers,
  ...metricsHandlers,
  ...monitoringHandlers,
  ...trafficHandlers,
  ...callHandlers,
  ...sessionHandlers,
  ...findHandlers,
  ...insightHandlers,
  ...runningCallHandlers,
  ...refusalHandlers,
  ...noticeHandlers,
  ...noticeEventHandlers,
  ...proposalHandlers,
  ...peopleHandlers,
  ...invitationHandlers,
  ...invitedHandlers,
  ...identityHandlers,
  ...mcpTokenHandlers,
  ...agentCredentialHandlers,
  ...oauthRequestHandlers,
  ...confirmationHandlers,
  ...oauthAppHandlers,
  ...grantHandlers,
  ...oauthAttemptHandlers,
  ...signingKeyHandlers,
  ...agentActivityHandlers,
  ...agentToolHandlers,
  ...batchToolHandlers,
  ...flowHandlers,
  ...configHandlers,
  ...checkTokenHandlers,
});
