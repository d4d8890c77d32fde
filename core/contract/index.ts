import type * as v from 'valibot';
import { audit } from './observe/audit.ts';
import { clientVersions } from './observe/client-versions.ts';
import { mcpSessions } from './observe/mcp-sessions.ts';
import { mcpTokens } from './identity/mcp-tokens.ts';
import { tokenEndOperations } from './identity/token-ends.ts';
import { agentAccess } from './identity/agent-access.ts';
import { agentTools } from './agent-tools.ts';
import { auth, twoFactor } from './identity/auth.ts';
import { bulk } from './definitions/bulk.ts';
import { canary } from './deploy/canary.ts';
import { calls } from './observe/calls.ts';
import { candidates } from './deploy/candidates.ts';
import { identityProviders } from './identity/identity-providers.ts';
import { replay } from './deploy/replay.ts';
import { confirmations } from './identity/confirmations.ts';
import { config } from './settings/config.ts';
import { connections } from './definitions/connections.ts';
import { files } from './definitions/files.ts';
import { deploy } from './deploy/deploy.ts';
import { drift } from './deploy/drift.ts';
import { flow } from './flow.ts';
import { history } from './history.ts';
import { home } from './home.ts';
import { metrics } from './observe/metrics.ts';
import { monitoring } from './observe/monitoring.ts';
import { notices } from './observe/notices.ts';
import { noticeEvents } from './observe/notice-events.ts';
import { guard } from './guard.ts';
import { insights } from './observe/insights.ts';
import { lint } from './lint.ts';
import type { Operation } from './operation.ts';
import { people } from './identity/people.ts';
import { explain } from './definitions/explain.ts';
import { preview } from './definitions/preview.ts';
import { oauth } from './identity/oauth.ts';
import { progress } from './observe/progress.ts';
import { proposals } from './proposals.ts';
import { prompts } from './definitions/prompts.ts';
import { resources } from './definitions/resources.ts';
import { signingKeys } from './identity/signing-keys.ts';
import { schema } from './definitions/schema.ts';
import { server } from './deploy/server.ts';
import { snapshots } from './deploy/snapshots.ts';
import { ssl } from './deploy/ssl.ts';
import { tokenCheck } from './settings/token-check.ts';
import { tests } from './definitions/tests.ts';
import { tools } from './definitions/tools.ts';
import { toolsets } from './definitions/toolsets.ts';
import { transfer } from './transfer.ts';

/** All operations by their names `noun.verb`. */
export const operations = {
  ...auth,
  ...twoFactor,
  ...identityProviders,
  ...connections,
  ...files,
  ...tools,
  ...resources,
  ...prompts,
  ...toolsets,
  ...tests,
  ...bulk,
  ...history,
  ...transfer,
  ...progress,
  ...schema,
  ...preview,
  ...explain,
  ...deploy,
  ...canary,
  // Before `snapshots`, whose operations have a version number at the same position of the path.
  ...candidates,
  ...replay,
  ...snapshots,
  ...guard,
  ...lint,
  ...drift,
  ...server,
  ...ssl,
  ...metrics,
  ...monitoring,
  ...calls,
  ...audit,
  ...mcpSessions,
  ...clientVersions,
  ...insights,
  ...notices,
  ...noticeEvents,
  ...proposals,
  ...people,
  ...home,
  ...mcpTokens,
  ...agentAccess,
  ...tokenEndOperations,
  ...oauth,
  ...confirmations,
  ...signingKeys,
  ...agentTools,
  ...flow,
  ...config,
  ...tokenCheck,
} satisfies Record<string, Operation>;

export type OperationName = keyof typeof operations;
export type Input<N extends OperationName> = v.InferOutput<(typeof operations)[N]['input']>;
/** The input before parsing: fields with defaults are optional. */
export type RawInput<N extends OperationName> = v.InferInput<(typeof operations)[N]['input']>;
export type Output<N extends OperationName> = v.InferOutput<(typeof operations)[N]['output']>;
