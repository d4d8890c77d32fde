import type { ControlPlane } from '#core/control-plane/control-plane.ts';
import { readServerConfig } from '#core/settings/settings.ts';
import type { Compiled } from '#snapshots/freeze/compile.ts';
import type { Configuration } from '#snapshots/freeze/freeze.ts';

/** Everything that people wrote, read whole: what a server's working copy must be equal to. */
export async function storedConfiguration(app: ControlPlane): Promise<Configuration> {
  const { connections, tools, resources, prompts, compiled } = app.store.tables;
  const artifacts = await app.store.db.select().from(compiled);
  return {
    server: await readServerConfig(app),
    connections: await app.store.db.select().from(connections),
    tools: await app.store.db.select().from(tools),
    resources: await app.store.db.select().from(resources),
    prompts: await app.store.db.select().from(prompts),
    compiled: new Map(artifacts.map(({ entity_id, artifact }) => [entity_id, artifact as Compiled])),
    allow_passthrough_sql: app.env.SVC_ALLOW_PASSTHROUGH_SQL,
  };
}
