import { createHash } from 'node:crypto';
import { ENTITIES, type EntityKind, ENTITY_KINDS } from '#core/contract/entities.ts';
import { ENTITY_SERVICES } from '#core/definitions/entity-services.ts';
import { schemaOf } from '../transfer-items.ts';

/** The format of one record in a file. */
interface Form {
  readonly extension: '.yaml' | '.sql' | '.md';
  /** The field whose text follows the front matter; null: the whole file is YAML. */
  readonly body: string | null;
  /** Fields that the server computes when a file omits them. */
  readonly derived: readonly string[];
}

const YAML: Form = { extension: '.yaml', body: null, derived: [] };
const SQL: Form = { extension: '.sql', body: 'sql_query', derived: [] };

/** The format of each noun. Its folder is its plural. */
const FORMS: Readonly<Record<EntityKind, Form>> = {
  connection: YAML,
  tool: { ...SQL, derived: ['read_only'] },
  resource: SQL,
  prompt: { extension: '.md', body: 'template', derived: [] },
  toolset: YAML,
  test: YAML,
};

/** A folder of a configuration in files. */
export interface Room extends Form {
  readonly kind: EntityKind;
  readonly folder: (typeof ENTITIES)[EntityKind]['plural'];
  /** The allowed contents of a file, as in an import. */
  readonly schema: ReturnType<typeof schemaOf>;
}

export const ROOMS: readonly Room[] = ENTITY_KINDS.map((kind) => ({
  kind,
  folder: ENTITIES[kind].plural,
  schema: schemaOf(ENTITY_SERVICES[kind]),
  ...FORMS[kind],
}));

/** The settings of the server. The file may contain some of them. */
export const SETTINGS_FILE = 'server.yaml';

/** Reserved device names of Windows. */
const DEVICE = /^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/i;
const MOST_BYTES = 180;

/** A file name without extension that is valid on every system: letters, digits, `_`, `-`, `.` and spaces between them. */
function stemOf(name: string): string {
  const safe = name
    .normalize('NFC')
    .replaceAll(/[^\p{L}\p{N}._ -]+/gu, '-')
    .replaceAll(/^[.\s-]+|[.\s]+$/g, '');
  let stem = '';
  for (const letter of safe) {
    if (Buffer.byteLength(stem + letter) > MOST_BYTES) break;
    stem += letter;
  }
  return stem === '' || DEVICE.test(stem) ? `_${stem}` : stem.trimEnd();
}

/** @param taken lower-case names of the other files, because some systems ignore case. The new name is added. */
export function fileNameOf(name: string, extension: string, taken: Set<string>): string {
  const stem = stemOf(name);
  const sign = createHash('sha256').update(name).digest('hex').slice(0, 8);
  for (let n = 0; ; n++) {
    const file = `${stem}${n === 0 ? '' : `-${sign}${n === 1 ? '' : `-${n}`}`}${extension}`;
    if (taken.has(file.toLowerCase())) continue;
    taken.add(file.toLowerCase());
    return file;
  }
}
