import * as v from 'valibot';
import { FolderSettings } from '#core/contract/definitions/file-settings.ts';

/** Why the text of `extra_params.files` is invalid, as the end of a sentence. Null: it is valid. */
export function fileSettingsFault(text: string): string | null {
  const read = parse(text);
  if (read === null) return 'must be JSON.';
  const { issues } = v.safeParse(FolderSettings, read.json);
  if (issues === undefined) return null;
  const [first] = issues;
  const path = first.path?.map(({ key }) => String(key)).join('.') ?? '';
  return path === '' ? 'must be an object of file names.' : `has an error at ${path}: ${first.message}.`;
}

/** Invalid settings are ignored: they are refused when they are saved. */
export function folderSettings(extra_params: Readonly<Record<string, unknown>>): FolderSettings {
  const text = extra_params['files'];
  const read = typeof text === 'string' ? parse(text) : null;
  const result = v.safeParse(FolderSettings, read?.json ?? {});
  return result.success ? result.output : {};
}

function parse(text: string): { readonly json: unknown } | null {
  try {
    return { json: JSON.parse(text) };
  } catch {
    return null;
  }
}
