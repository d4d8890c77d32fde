import type { OperationName } from '#core/contract/index.ts';
import { checkVersion } from './records.ts';
import type { EntityType } from '#core/observe/history.ts';

/** What reads the record that an operation changes. */
const READERS = {
  'connections.update': ['connections.get', 'connection'],
  'tools.update': ['tools.get', 'tool'],
  'resources.update': ['resources.get', 'resource'],
  'prompts.update': ['prompts.get', 'prompt'],
  'config.update': ['config.get', 'server_config'],
} as const satisfies Partial<Record<OperationName, readonly [OperationName, EntityType]>>;

type Reader = (typeof READERS)[keyof typeof READERS][0];
type Read = (reader: Reader, input: { id: string }) => Promise<{ readonly version: number }>;
const isUpdate = (name: string): name is keyof typeof READERS => Object.hasOwn(READERS, name);

/**
 * The record as it is, when a PATCH holds no field: a change that changes nothing is no version and leaves no history. Null for
 * every other request. @param read runs the operation that reads.
 */
export async function emptyPatch(
  name: OperationName,
  { id, version, ...fields }: Readonly<Record<string, unknown>>,
  read: Read,
): Promise<object | null> {
  if (!isUpdate(name) || Object.values(fields).some((value) => value !== undefined)) return null;
  const [reader, noun] = READERS[name];
  const record = await read(reader, { id: String(id) });
  checkVersion(noun, record, version as number | undefined);
  return record;
}
