import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { connectClient } from './mcp-clients.ts';
import { isAnswered, type Programs, removeFolder } from './programs.ts';
import { foreignFolder, stdioLine, toolsOf } from './stdio-line.ts';
import { until } from './until.ts';

/**
 * What every form of the one command does: it serves the demo, prints lines that work, and ends with all that it started.
 * @param demo_tools how many tools the demo has there. @param more tests of one form, before it ends.
 */
export function describeOneCommand(
  name: string,
  start: () => Promise<Programs>,
  demo_tools: number,
  more?: (programs: () => Programs) => void,
): void {
  describe(name, () => {
    let programs: Programs;
    beforeAll(async () => {
      programs = await start();
      await programs.demo();
    }, 60_000);
    afterAll(async () => {
      await programs?.stop('SIGKILL');
      if (programs) removeFolder(programs);
    });

    test('says first where the data is, and serves the interface and the API documentation', async () => {
      const [first = ''] = programs.output().split('\n');
      expect(JSON.parse(first)).toMatchObject({ level: 'INFO', message: 'data folder', path: programs.directory });
      const page = await (await fetch(programs.url)).text();
      const script = /src="(\/assets\/[^"]+\.js)"/.exec(page)?.[1] ?? '';
      for (const path of [script, '/api/docs', '/api/docs/assets/swagger-ui-bundle.js', '/api/redoc']) {
        const answer = await fetch(programs.url + path);
        const empty = (await answer.text()).length < 100;
        expect({ path, status: answer.status, empty }).toEqual({ path, status: 200, empty: false });
      }
    });

    test('both official clients call the deployed demo', async () => {
      for (const kind of ['v1', 'v2'] as const) {
        const client = await connectClient(kind, programs.mcp_url);
        expect(await client.tools()).toHaveLength(demo_tools);
        const { structuredContent } = await client.call('get_customer', { email: 'ada@example.com' });
        expect(structuredContent).toMatchObject({ row: { name: 'Ada' } });
        await client.close();
      }
    });

    test('prints a stdio line that works from another folder', async () => {
      await programs.signIn();
      const elsewhere = foreignFolder();
      const { line, secrets } = await stdioLine(programs);
      expect(secrets).toEqual([]);
      expect(await toolsOf(line, elsewhere)).toHaveLength(demo_tools);
      rmSync(elsewhere, { recursive: true });
    }, 60_000);

    more?.(() => programs);

    test('ends with all that it started when it is told to', async () => {
      await programs.stop();
      expect(programs.process.exitCode).toBe(0);
      expect(await isServed(programs)).toBe(false);
    }, 60_000);

    test('ends with all that it started when it is killed', async () => {
      const killed = await start();
      try {
        await killed.demo();
        await killed.stop('SIGKILL');
        await until(async () => !(await isServed(killed)));
      } finally {
        removeFolder(killed);
      }
    }, 60_000);
  });
}

/** Whether any of the programs still answers. */
export async function isServed({ url, mcp_url, agent_port }: Programs): Promise<boolean> {
  const asked = [url, mcp_url, `http://127.0.0.1:${agent_port}`].map(isAnswered);
  return (await Promise.all(asked)).includes(true);
}
