import { eq, or } from 'drizzle-orm';
import type { App } from '#core/app.ts';
import type { OperationName } from '#core/contract/index.ts';
import { invalidField } from '#core/errors.ts';

type Plural = 'connections' | 'tools' | 'resources' | 'prompts';
type Input = Readonly<Record<string, unknown>>;

/** Fields in which an agent may write a unique name instead of an id. */
const FIELDS: Readonly<Record<string, Plural>> = {
  connection_id: 'connections',
  tool_id: 'tools',
  resource_id: 'resources',
  prompt_id: 'prompts',
};
const OF_TYPE: Readonly<Record<string, Plural>> = {
  connection: 'connections',
  tool: 'tools',
  resource: 'resources',
  prompt: 'prompts',
};

/** The input with ids in the place of names. What names nothing stays: the operation says what is wrong with it. */
export async function resolveNames(app: App, operation: OperationName, input: Input): Promise<Input> {
  const noun = operation.split('.')[0] ?? '';
  const resolved: Record<string, unknown> = { ...input };
  for (const [field, value] of Object.entries(input)) {
    const plural = field === 'id' ? Object.values(FIELDS).find((known) => known === noun) : FIELDS[field];
    if (plural !== undefined) resolved[field] = await idOf(app, plural, value);
    if (field === 'tools' && Array.isArray(value)) {
      resolved[field] = await Promise.all(value.map((item) => (isRecord(item) ? resolveNames(app, operation, item) : item)));
    }
  }
  if (noun !== 'history') return resolved;
  const plural = OF_TYPE[String(input['entity_type'])];
  if (plural !== undefined) resolved['entity_id'] = await idOf(app, plural, input['entity_id']);
  if ('history_id' in input) resolved['history_id'] = await entryOf(app, input['history_id']);
  return resolved;
}

const isRecord = (value: unknown): value is Input => typeof value === 'object' && value !== null;

async function idOf(app: App, plural: Plural, value: unknown): Promise<unknown> {
  if (typeof value !== 'string') return value;
  const table = app.store.tables[plural] as typeof app.store.tables.tools;
  const rows = await app.store.db
    .select({ id: table.id })
    .from(table)
    .where(or(eq(table.id, value), eq(table.name, value)));
  return rows.find(({ id }) => id === value)?.id ?? rows[0]?.id ?? value;
}

/** An id; what a deletion or an import gave as batch_id; or a name, when the record of this name has only one entry. */
async function entryOf(app: App, value: unknown): Promise<unknown> {
  if (typeof value !== 'string') return value;
  const { history } = app.store.tables;
  const rows = await app.store.db
    .select({ id: history.id, batch_id: history.batch_id, entity_type: history.entity_type })
    .from(history)
    .where(or(eq(history.id, value), eq(history.entity_name, value), eq(history.batch_id, value)));
  if (rows.some(({ id }) => id === value)) return value;
  const batch = rows.filter(({ batch_id }) => batch_id === value);
  // Undoing a connection's deletion brings back what it owned; of an import, any entry stands for all.
  const main = batch.find(({ entity_type }) => entity_type === 'connection') ?? batch[0];
  if (main !== undefined) return main.id;
  if (rows.length < 2) return rows[0]?.id ?? value;
  throw invalidField('history_id', 'history_id matches a record with several entries. Use the id of one from list_history.');
}
