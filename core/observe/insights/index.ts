import type { InsightRuleName } from '#core/contract/observe/insight-rules.ts';
import { argumentFails } from './argument-fails.ts';
import { cancelledCalls } from './cancelled-calls.ts';
import { confusedTools } from './confused-tools.ts';
import type { InsightRule } from './insight.ts';
import { retryLoop } from './retry-loop.ts';
import { revokedToken } from './revoked-token.ts';
import { shortQueue } from './short-queue.ts';
import { slowStatement } from './slow-statement.ts';
import { statementFails } from './statement-fails.ts';
import { truncatedResults } from './truncated-results.ts';
import { unusedTool } from './unused-tool.ts';

/** The rule of each name in `core/contract/observe/insight-rules.ts`. */
export const RULES: Readonly<Record<InsightRuleName, InsightRule>> = {
  'statement-fails': statementFails,
  'short-queue': shortQueue,
  'argument-fails': argumentFails,
  'retry-loop': retryLoop,
  'slow-statement': slowStatement,
  'truncated-results': truncatedResults,
  'confused-tools': confusedTools,
  'revoked-token': revokedToken,
  'cancelled-calls': cancelledCalls,
  'unused-tool': unusedTool,
};
