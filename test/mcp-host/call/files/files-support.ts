import type { ControlServer, TestHost } from '#test/mcp-host/support.ts';
import { callTool } from '#test/mcp-host/support.ts';
import { until } from '#test/support/until.ts';

export interface FileMember {
  readonly url: string;
  readonly format: string;
  readonly expires_at: string;
  readonly rows?: number;
}

/** The address of the file in an answer. */
export async function fileOf(
  host: TestHost,
  tool: string,
  args: object = {},
  headers: Record<string, string> = {},
): Promise<FileMember> {
  const { body } = await callTool(host.mcp, tool, args, headers);
  const file = (body.result?.['structuredContent'] as { file?: FileMember } | undefined)?.file;
  if (file === undefined) throw new Error(`The answer has no file: ${JSON.stringify(body)}`);
  return file;
}

export const download = async (url: string, init: RequestInit = {}) => {
  const response = await fetch(url, init);
  return { status: response.status, headers: response.headers, text: await response.text() };
};

/** What the request log says of the downloads so far. */
export const downloadsIn = (control: ControlServer) =>
  control.usage.flatMap(({ items }) => items).filter(({ client }) => client?.startsWith('download') === true);

export const untilLogged = (control: ControlServer, count: number) => until(() => downloadsIn(control).length >= count);
