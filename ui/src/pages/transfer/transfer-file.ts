import { byPlural, ENTITIES, ENTITY_KINDS } from '#core/contract/entities.ts';
import { FORMAT, type ImportFault, type ImportReport } from '#core/contract/transfer.ts';
import type { RawInput } from '#core/contract/index.ts';
import { jsonFaultLine, parseJson } from '#ui/src/kernel/json.ts';
import { num } from '#ui/src/kernel/numbers.ts';
import { bytes } from '#ui/src/kernel/words.ts';

/** Limit of the server in bytes. */
const LARGEST_FILE = 16 * 1024 * 1024;
const NOUNS = ENTITY_KINDS.map((kind) => ENTITIES[kind].plural);
type Noun = (typeof NOUNS)[number];

export interface ExportFile {
  readonly name: string;
  readonly exported_at: string | undefined;
  readonly counts: Readonly<Record<Noun, number>>;
  readonly has_server_config: boolean;
  readonly data: Readonly<Record<string, unknown>>;
}
type Read = { readonly ok: true; readonly file: ExportFile } | { readonly ok: false; readonly reason: string };

/** Checks a file before it is sent: most mistakes are a wrong file. */
export function readExport(name: string, text: string): Read {
  if (text.length > LARGEST_FILE)
    return refuse(
      `The file is larger than ${bytes(LARGEST_FILE)}. Split it, or run “sluice import” with it on the server’s machine.`,
    );
  const data = parseJson(text);
  if (data === undefined) {
    const line = jsonFaultLine(text);
    const where = line === null ? '' : ` (line ${num(line)})`;
    return refuse(`This file isn’t valid JSON${where}. Choose an exported file.`);
  }
  if (typeof data !== 'object' || data === null || Array.isArray(data))
    return refuse('This JSON file isn’t an export. Choose an exported file.');
  const found: Readonly<Record<string, unknown>> = data as Record<string, unknown>;
  if (found['format'] !== FORMAT)
    return refuse(
      found['format'] === undefined
        ? `This JSON file isn’t an export: the field “format” is missing. It must be ${FORMAT}.`
        : `This file has the format ${JSON.stringify(found['format']).slice(0, 40)}; this server reads ${FORMAT}.`,
    );
  for (const noun of NOUNS) {
    if (found[noun] !== undefined && !Array.isArray(found[noun])) return refuse(`The field “${noun}” must be a list.`);
  }
  const size = (noun: Noun) => (Array.isArray(found[noun]) ? found[noun].length : 0);
  return {
    ok: true,
    file: {
      name,
      exported_at: typeof found['exported_at'] === 'string' ? found['exported_at'] : undefined,
      counts: byPlural(ENTITY_KINDS, (kind) => size(ENTITIES[kind].plural)),
      has_server_config: typeof found['server_config'] === 'object' && found['server_config'] !== null,
      data: found,
    },
  };
}

const refuse = (reason: string): Read => ({ ok: false, reason });

export interface ImportChoices {
  readonly mode: 'merge' | 'overwrite';
  readonly include_server_config: boolean;
}

/** The request body; the server validates every record. */
export const toImport = (file: ExportFile, choices: ImportChoices, dry_run: boolean): RawInput<'transfer.import'> =>
  ({ ...file.data, ...choices, dry_run }) as RawInput<'transfer.import'>;

interface FaultGroup {
  readonly entity_type: ImportFault['entity_type'];
  readonly name: string | null;
  readonly index: number | null;
  readonly faults: readonly { readonly field: string | null; readonly message: string }[];
}

/** Errors by record, in the order of the file. */
export function groupFaults(faults: readonly ImportFault[]): FaultGroup[] {
  const groups = new Map<string, FaultGroup & { faults: { field: string | null; message: string }[] }>();
  for (const { entity_type, name, index, field, message } of faults) {
    const key = `${entity_type}/${index ?? ''}/${name ?? ''}`;
    const group = groups.get(key) ?? { entity_type, name, index, faults: [] };
    group.faults.push({ field, message });
    groups.set(key, group);
  }
  return [...groups.values()];
}

const ROWS = [...NOUNS, 'server_config'] as const;

/** The lines of the report: one for each noun in the file. */
export const reportRows = (report: ImportReport) =>
  ROWS.map((noun) => ({
    noun,
    created: report.created[noun],
    updated: report.updated[noun],
    skipped: report.skipped[noun],
  })).filter(({ created, updated, skipped }) => created + updated + skipped > 0);

export const writes = (report: ImportReport): number =>
  ROWS.reduce((sum, noun) => sum + report.created[noun] + report.updated[noun], 0);

/** `sluice-2026-11-21.json`, from the name of the server. */
export const exportName = (server: string, iso: string): string => `${server}-${iso.slice(0, 10)}.json`;
