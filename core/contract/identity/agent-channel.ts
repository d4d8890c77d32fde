import * as v from 'valibot';
import { HostLine } from '../observe/usage-batch.ts';

/** What the agent asks the server about the configuration; it keeps the answer for 2 s. */
export const AgentSettings = v.object({
  /** Pages of these origins may use the agent's own port. */
  cors_origins: v.array(v.string()),
  /** Host names of the configuration. */
  domains: v.array(v.string()),
  /** Where people sign in for it; null: they cannot. */
  issuer: v.nullable(v.string()),
  /** How suspicious text in answers is looked for; null: the guard is off. */
  guard: v.nullable(v.object({ threshold: v.picklist(['low', 'medium', 'high']), allow: v.array(v.string()) })),
});
export type AgentSettings = v.InferOutput<typeof AgentSettings>;

/** Lines of the agent's own log for the live log. */
export const AgentLines = v.object({ lines: v.pipe(v.array(HostLine), v.maxLength(1_000)) });
export type AgentLine = HostLine;
