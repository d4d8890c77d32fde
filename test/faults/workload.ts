import type { Programs } from '#test/support/programs.ts';
import type { Random } from '#test/support/chance.ts';

/** What the server has acknowledged, and the one change that was under way when it was killed. */
export interface Model {
  readonly tools: Map<string, Acknowledged>;
  pending: Pending | null;
  snapshot_version: number;
  acknowledged: number;
}

interface Acknowledged {
  readonly id: string;
  readonly version: number;
  readonly description: string;
}

type Pending =
  | { readonly kind: 'create'; readonly names: readonly string[]; readonly description: string }
  | { readonly kind: 'update'; readonly name: string; readonly description: string }
  | { readonly kind: 'delete'; readonly name: string }
  | { readonly kind: 'deploy' };

interface StoredTool extends Acknowledged {
  readonly name: string;
}

const IMPORTED = 5;
const MOST = 40;

/** Writes one after the other until `stopped`; every answer goes into the model, a call without one stays pending. */
export async function write(
  programs: Programs,
  model: Model,
  random: Random,
  connection: { id: string; name: string },
  stopped: () => boolean,
): Promise<void> {
  const acknowledge = (tool: StoredTool) => model.tools.set(tool.name, tool);
  const draft = (name: string, description: string) => ({ name, description, sql_query: `select '${name}' as name` });
  const steps: Record<'create' | 'import' | 'update' | 'delete' | 'deploy', () => Promise<void>> = {
    async create() {
      const [name, description] = [`t${random.whole(1e9)}`, `created ${random.whole(1e9)}`];
      model.pending = { kind: 'create', names: [name], description };
      acknowledge(
        await programs.api<StoredTool>('POST', '/tools', { ...draft(name, description), connection_id: connection.id }),
      );
    },
    async import() {
      const description = `imported ${random.whole(1e9)}`;
      const names = Array.from({ length: IMPORTED }, () => `i${random.whole(1e9)}`);
      model.pending = { kind: 'create', names, description };
      const tools = names.map((name) => ({ ...draft(name, description), connection: connection.name }));
      await programs.api('POST', '/export-import/import', {
        format: 'sluice/1',
        connections: [],
        tools,
        resources: [],
        prompts: [],
      });
      for (const tool of await storedTools(programs)) if (names.includes(tool.name)) acknowledge(tool);
    },
    async update() {
      const [name, tool] = random.pick([...model.tools]);
      const description = `changed ${random.whole(1e9)}`;
      model.pending = { kind: 'update', name, description };
      acknowledge(await programs.api<StoredTool>('PATCH', `/tools/${tool.id}`, { description, version: tool.version }));
    },
    async delete() {
      const [name, tool] = random.pick([...model.tools]);
      model.pending = { kind: 'delete', name };
      await programs.api('DELETE', `/tools/${tool.id}`);
      model.tools.delete(name);
    },
    async deploy() {
      model.pending = { kind: 'deploy' };
      const receipt = await programs.api<{ snapshot_version: number }>('POST', '/deploy', {});
      model.snapshot_version = Math.max(model.snapshot_version, receipt.snapshot_version);
    },
  };
  while (!stopped()) {
    const kinds =
      model.tools.size === 0
        ? (['create', 'import'] as const)
        : (['create', 'import', 'update', 'update', 'delete', 'deploy'] as const);
    const kind = random.pick(kinds);
    try {
      await steps[model.tools.size > MOST ? 'delete' : kind]();
    } catch (error) {
      // An answer is a fault of the server; no answer is the kill.
      if (error instanceof Error && / answered \d/.test(error.message)) throw error;
      return;
    }
    model.pending = null;
    model.acknowledged += 1;
  }
}

export async function storedTools(programs: Programs): Promise<StoredTool[]> {
  return (await programs.api<{ items: StoredTool[] }>('GET', '/tools?limit=500')).items;
}

/** Compares what is stored with what was acknowledged; what was pending may be done or not, but not half. @returns faults. */
export async function compare(programs: Programs, model: Model, others: ReadonlySet<string>): Promise<string[]> {
  const faults: string[] = [];
  const stored = new Map((await storedTools(programs)).filter(({ name }) => !others.has(name)).map((tool) => [tool.name, tool]));
  const { pending } = model;
  model.pending = null;
  if (pending?.kind === 'create') {
    const done = pending.names.flatMap((name) => stored.get(name) ?? []);
    if (done.length > 0 && done.length < pending.names.length) faults.push(`half of an import is stored: ${done.length}`);
    for (const tool of done) model.tools.set(tool.name, tool);
  }
  if (pending?.kind === 'update') {
    const before = model.tools.get(pending.name);
    const now = stored.get(pending.name);
    if (before && now?.version === before.version + 1 && now.description === pending.description) model.tools.set(now.name, now);
  }
  if (pending?.kind === 'delete' && !stored.has(pending.name)) model.tools.delete(pending.name);
  for (const [name, tool] of model.tools) {
    const now = stored.get(name);
    if (now === undefined) faults.push(`${name} was acknowledged and is gone`);
    else if (now.version !== tool.version || now.description !== tool.description) {
      faults.push(`${name} was acknowledged as version ${tool.version} and is version ${now.version}`);
    }
  }
  for (const name of stored.keys()) if (!model.tools.has(name)) faults.push(`${name} is there and nobody asked for it`);
  return faults;
}

/** Every version of a record has its history entry, and no entry is without its version. */
export async function compareHistory(programs: Programs, model: Model, random: Random): Promise<string[]> {
  const some = [...model.tools].filter(() => random.whole(4) === 0).slice(0, 8);
  const faults: string[] = [];
  for (const [name, tool] of some) {
    const { items } = await programs.api<{ items: { version_after: number | null }[] }>(
      'GET',
      `/history/tool/${tool.id}?limit=100`,
    );
    const versions = items.map((entry) => entry.version_after).toSorted((a, b) => Number(a) - Number(b));
    const expected = Array.from({ length: tool.version }, (_, index) => index + 1);
    if (JSON.stringify(versions) !== JSON.stringify(expected))
      faults.push(`${name} at version ${tool.version} has history ${versions.join()}`);
  }
  return faults;
}
