import * as v from 'valibot';
import { HostLine } from '../observe/usage-batch.ts';

/** Settings that the agent reads from the server and caches for 2 s. */
export const AgentSettings = v.object({
  /** Origins of pages that can use the agent's port. */
  cors_origins: v.array(v.string()),
  /** Configured host names. */
  domains: v.array(v.string()),
  /** URL where people sign in; null: sign-in is off. */
  issuer: v.nullable(v.string()),
  /** Settings of the prompt guard for responses; null: the guard is off. */
  guard: v.nullable(v.object({ threshold: v.picklist(['low', 'medium', 'high']), allow: v.array(v.string()) })),
});
export type AgentSettings = v.InferOutput<typeof AgentSettings>;

/** Lines from the agent's log for the live log. */
export const AgentLines = v.object({ lines: v.pipe(v.array(HostLine), v.maxLength(1_000)) });
export type AgentLine = HostLine;
