import type { Env } from '#core/process/env.ts';
import { createLog, reasonOf, toStream } from '#core/process/log.ts';

const AGAIN_MS = 5_000;

export interface AgentEndpoint {
  /** Lets running calls finish. */
  stop(): Promise<void>;
}

/**
 * Runs the agent endpoint in the process of the server, which saves the memory of a program. It uses the server over REST, as
 * the program `agent` does, and listens later if its port is in use. @param port of the server.
 */
export async function runAgentEndpoint(env: Env, port: number): Promise<AgentEndpoint> {
  const { startAgent } = await import('#agent/start.ts');
  const log = createLog(env.SVC_LOG_LEVEL, toStream(process.stdout), 'agent');
  const settings = { ...env, SVC_SERVER_URL: env.SVC_SERVER_URL ?? `http://127.0.0.1:${port}`, SVC_PORT: port };
  let is_ending = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let running: ReturnType<typeof startAgent> | null = null;
  const listen = (): void => {
    try {
      running = startAgent(settings, log, () => is_ending);
      log.info('agent listens', { address: env.SVC_BIND, port: running.port });
    } catch (error) {
      log.error('agent does not listen; trying again', {
        reason: reasonOf(error),
        port: env.SVC_AGENT_MCP_PORT,
        delay_ms: AGAIN_MS,
      });
      timer = setTimeout(listen, AGAIN_MS);
    }
  };
  listen();
  return {
    async stop() {
      is_ending = true;
      clearTimeout(timer);
      log.info('agent stops');
      await running?.stop();
    },
  };
}
