import { createHash } from 'node:crypto';
import type { Selection } from '#core/contract/definitions/toolsets.ts';
import type { LiveToken } from '#core/contract/deploy/control.ts';
import type { FrozenToolset } from '#snapshots/format/format.ts';
import { keyring } from '#test/mcp-host/support.ts';

export const selectionOf = (more: Partial<Selection> = {}): Selection => ({
  tags: [],
  connection_ids: [],
  tool_ids: [],
  resource_ids: [],
  prompt_ids: [],
  ...more,
});

export const toolsetOf = (name: string, include: Partial<Selection>, more: Partial<FrozenToolset> = {}): FrozenToolset => ({
  id: crypto.randomUUID(),
  name,
  title: null,
  description: '',
  instructions: null,
  include: selectionOf(include),
  exclude: selectionOf(),
  read_only: false,
  groups: [],
  ...more,
});

/** An access token as the server sends it to hosts, and its text. */
export async function liveToken(
  text: string,
  toolsets: readonly string[] | null,
  more: Partial<LiveToken> = {},
): Promise<LiveToken> {
  const id = more.id ?? crypto.randomUUID();
  const hash = await Bun.password.hash(text, { algorithm: 'bcrypt', cost: 4 });
  return {
    id,
    name: text.slice(0, 20),
    token_prefix: text.slice(0, 12),
    idle_timeout_minutes: null,
    toolsets: toolsets && [...toolsets],
    claims: {},
    expires_at: null,
    last_used_at: null,
    revoked: false,
    created_at: '2026-01-01T00:00:00.000Z',
    digest: createHash('sha256').update(text).digest('hex'),
    secret_hash: { $sealed: keyring.seal(hash, `mcp_token/${id}/secret_hash`) },
    ...more,
  };
}

export const tokenText = (n: number): string => `svc_mcp_${String(n).padStart(40, 'x')}`;
