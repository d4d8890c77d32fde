import type * as v from 'valibot';
import { mcpTokens } from './identity/mcp-tokens.ts';
import { agentAccess } from './identity/agent-access.ts';
import { agentTools } from './agent-tools.ts';
import { auth, twoFactor } from './identity/auth.ts';
import { config } from './config.ts';
import { connections } from './connections.ts';
import { deploy } from './deploy/deploy.ts';
import { flow } from './flow.ts';
import { history } from './history.ts';
import { monitoring } from './monitoring.ts';
import { guard } from './guard.ts';
import type { Operation } from './operation.ts';
import { preview } from './preview.ts';
import { prompts } from './prompts.ts';
import { resources } from './resources.ts';
import { schema } from './schema.ts';
import { server } from './deploy/server.ts';
import { snapshots } from './deploy/snapshots.ts';
import { ssl } from './deploy/ssl.ts';
import { tools } from './tools.ts';
import { transfer } from './transfer.ts';

/** Every operation of the product by its name `noun.verb`. */
export const operations = {
  ...auth,
  ...twoFactor,
  ...connections,
  ...tools,
  ...resources,
  ...prompts,
  ...history,
  ...transfer,
  ...schema,
  ...preview,
  ...deploy,
  ...snapshots,
  ...guard,
  ...server,
  ...ssl,
  ...monitoring,
  ...mcpTokens,
  ...agentAccess,
  ...agentTools,
  ...flow,
  ...config,
} satisfies Record<string, Operation>;

export type OperationName = keyof typeof operations;
export type Input<N extends OperationName> = v.InferOutput<(typeof operations)[N]['input']>;
/** What a caller may leave out is optional. */
export type RawInput<N extends OperationName> = v.InferInput<(typeof operations)[N]['input']>;
export type Output<N extends OperationName> = v.InferOutput<(typeof operations)[N]['output']>;

/** Names of the path variables of an operation. */
export const pathVariables = (path: string): string[] => [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1] ?? '');

/** The path below the base URL: everything but health is versioned. */
export const fullPath = (path: string): string => (path === '/health' ? '/api/health' : `/api/v1${path}`);
