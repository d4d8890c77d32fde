import type { ControlPlane } from '#core/control-plane/control-plane.ts';
import { bulkHandlers } from '#core/definitions/many/bulk.ts';
import type { Handlers } from '#core/context/context.ts';
import { agentActivityHandlers } from '#core/observe/agent-activity.ts';
import { agentCredentialHandlers } from '#core/identity/agent-credentials.ts';
import { agentToolHandlers } from '#core/agent-tools/agent-tools.ts';
import { auditHandlers } from '#core/audit/read.ts';
import { authHandlers } from '#core/identity/auth.ts';
import { progressHandlers } from '#core/records/batch.ts';
import { batchToolHandlers } from '#core/agent-tools/batch-tools.ts';
import { callHandlers } from '#core/observe/calls.ts';
import { failureHandlers } from '#core/observe/failures.ts';
import { canaryHandlers } from '#core/deploy/candidates/canary.ts';
import { candidateHandlers } from '#core/deploy/candidates/candidates.ts';
import { checkTokenHandlers } from '#core/server-config/check-token.ts';
import { confirmationHandlers } from '#core/identity/oauth/confirmations.ts';
import { configHandlers } from '#core/server-config/server-config.ts';
import { connectionHandlers } from '#core/definitions/connections.ts';
import { deployHandlers } from '#core/deploy/deploy-handlers.ts';
import { findHandlers, insightHandlers } from '#core/observe/insights/insights.ts';
import { fileHandlers } from '#core/definitions/files/files.ts';
import { flowHandlers } from '#core/agent-tools/flow.ts';
import { historyHandlers } from '#core/history/history-handlers.ts';
import { homeHandlers } from '#core/deploy/home.ts';
import { providerHandlers } from '#core/identity/providers/providers.ts';
import { driftHandlers } from '#core/deploy/checks/drift.ts';
import { lintHandlers } from '#core/definitions/lint/lint-index.ts';
import { mcpTokenHandlers } from '#core/identity/mcp-tokens.ts';
import { tokenEndHandlers } from '#core/identity/ends/watch-ends.ts';
import { invitationHandlers } from '#core/identity/invitations.ts';
import { identityHandlers } from '#core/identity/providers/identities.ts';
import { invitedHandlers } from '#core/identity/providers/invited.ts';
import { peopleHandlers } from '#core/identity/people.ts';
import { metricsHandlers } from '#core/observe/metrics/metrics.ts';
import { monitoringHandlers } from '#core/observe/monitoring.ts';
import { noticeHandlers } from '#core/observe/notices/notices.ts';
import { noticeEventHandlers } from '#core/observe/notices/event-handlers.ts';
import { proposalHandlers } from '#core/proposals/proposals.ts';
import { guardHandlers } from '#core/records/prompt-guard.ts';
import { refusalHandlers } from '#core/observe/refusals.ts';
import { runningCallHandlers } from '#core/observe/running-calls.ts';
import { previewHandlers } from '#core/definitions/preview/preview.ts';
import { explainHandlers } from '#core/definitions/preview/explain.ts';
import { previewDefinitionHandlers } from '#core/definitions/preview/preview-definitions.ts';
import { oauthAttemptHandlers } from '#core/identity/oauth/attempts.ts';
import { oauthAppHandlers } from '#core/identity/oauth/clients/apps.ts';
import { grantHandlers } from '#core/identity/oauth/grants.ts';
import { signingKeyHandlers } from '#core/identity/oauth/key-handlers.ts';
import { oauthRequestHandlers } from '#core/identity/oauth/requests.ts';
import { prompt } from '#core/definitions/prompts.ts';
import { resource } from '#core/definitions/resources.ts';
import { clientVersionHandlers } from '#core/observe/client-versions.ts';
import { sessionHandlers } from '#core/observe/sessions/session-handlers.ts';
import { trafficHandlers } from '#core/observe/traffic/traffic-handlers.ts';
import { schemaHandlers } from '#core/definitions/schema.ts';
import { serverHandlers } from '#core/deploy/server-handlers.ts';
import { replayHandlers } from '#core/deploy/replay-calls.ts';
import { snapshotHandlers } from '#core/deploy/snapshots.ts';
import { sslHandlers } from '#core/server-config/ssl.ts';
import { testHandlers } from '#core/definitions/tests/test-handlers.ts';
import { toolHandlers } from '#core/definitions/tools.ts';
import { toolsetHandlers } from '#core/definitions/toolsets/toolsets.ts';
import { transferHandlers } from '#core/transfer/transfer.ts';
import { proveHandlers } from '#core/identity/prove.ts';
import { twoFactorHandlers } from '#core/identity/two-factor.ts';

/** The handler of every operation. */
export const handlers: Handlers<ControlPlane> = {
  ...authHandlers,
  ...proveHandlers,
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
  ...failureHandlers,
  ...auditHandlers,
  ...sessionHandlers,
  ...clientVersionHandlers,
  ...findHandlers,
  ...insightHandlers,
  ...runningCallHandlers,
  ...refusalHandlers,
  ...noticeHandlers,
  ...noticeEventHandlers,
  ...proposalHandlers,
  ...peopleHandlers,
  ...homeHandlers,
  ...invitationHandlers,
  ...invitedHandlers,
  ...identityHandlers,
  ...mcpTokenHandlers,
  ...tokenEndHandlers,
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
};
