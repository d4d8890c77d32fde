import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseSync } from 'vite';
import { ROOT } from '#test/runner/layers.ts';
import type { Random } from '#test/support/chance.ts';
import type { Change, Texts } from './change.ts';
import { apply, type Mutant, mutantsOf, type Operator, withProbes } from './mutants.ts';
import type { Types } from './types.ts';

/** A part of the product, with its share of a sample. */
interface Area {
  readonly name: string;
  readonly share: number;
  readonly paths: RegExp;
  /** Only declarations that this names. */
  readonly within?: RegExp;
}

export const AREAS: readonly Area[] = [
  { name: 'lib', share: 25, paths: /^core\/lib\// },
  { name: 'engines', share: 25, paths: /^core\/engines\// },
  { name: 'definitions', share: 20, paths: /^core\/definitions\// },
  { name: 'deploy', share: 20, paths: /^core\/deploy\// },
  { name: 'identity', share: 15, paths: /^core\/identity\// },
  { name: 'observe', share: 15, paths: /^core\/observe\// },
  { name: 'host', share: 20, paths: /^mcp-host\// },
  // Where SQL for the metadata differs between the embedded database and PostgreSQL.
  {
    name: 'dialects',
    share: 10,
    paths: /^core\/(?!engines\/|lib\/|contract\/)/,
    within: /\bstore\.dialect\b|\bdialect [!=]== '(sqlite|postgresql)'|\bwriteArray|\bBlobs\b/,
  },
];

export interface Sampled extends Change {
  readonly area: string;
  readonly file: string;
  readonly text: string;
  readonly mutant: Mutant;
  /** The line without and with it. */
  readonly before: string;
  readonly after: string;
}

/** Mutants of every area, or of the named ones, by their shares. No two of them are on one line. */
export async function sampleMutants(random: Random, types: Types, total: number, only: readonly string[]): Promise<Sampled[]> {
  const areas = AREAS.filter(({ name }) => only.length === 0 || only.includes(name));
  const shares = areas.reduce((sum, { share }) => sum + share, 0);
  const sample: Sampled[] = [];
  for (const area of areas)
    sample.push(...(await drawn(random, types, area, Math.max(1, Math.round((total * area.share) / shares)))));
  return sample;
}

/** Every operator is as likely as the others, however many places it has. */
async function drawn(random: Random, types: Types, area: Area, count: number): Promise<Sampled[]> {
  const programs = programsOf(area);
  const by_operator = new Map<Operator, [file: string, Mutant][]>();
  for (const [file, text] of programs)
    for (const mutant of mutantsOf(text)) {
      if (!isWithin(text, mutant, area.within)) continue;
      const list = by_operator.get(mutant.operator) ?? [];
      list.push([file, mutant]);
      by_operator.set(mutant.operator, list);
    }
  const result: Sampled[] = [];
  const lines = new Set<string>();
  while (result.length < count && by_operator.size > 0) {
    const operator = random.pick([...by_operator.keys()]);
    const list = by_operator.get(operator) ?? [];
    const [[file, mutant] = []] = list.splice(random.whole(list.length), 1);
    if (list.length === 0) by_operator.delete(operator);
    if (file === undefined || mutant === undefined || lines.has(`${file}:${mutant.line}`)) continue;
    const text = programs.get(file) ?? '';
    const changed = apply(text, mutant.edit);
    const texts = new Map([[file, changed]]);
    if (!(await types.agreeWith(texts))) continue;
    lines.add(`${file}:${mutant.line}`);
    result.push({
      title: `${file}:${mutant.line} ${mutant.operator}`,
      texts,
      likely: [],
      area: area.name,
      file,
      text,
      mutant,
      before: lineAt(text, mutant),
      after: lineAt(changed, mutant),
    });
  }
  return result;
}

function programsOf({ paths }: Area): Map<string, string> {
  const files = ['core', 'mcp-host'].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map(
      (path) => `${folder}/${path.replaceAll('\\', '/')}`,
    ),
  );
  const programs = files.filter((path) => paths.test(path) && path.endsWith('.ts') && !path.endsWith('.d.ts')).toSorted();
  return new Map(programs.map((path) => [path, readFileSync(join(ROOT, path), 'utf8')]));
}

/** Whether the top-level declaration that a mutant is in says so. */
function isWithin(text: string, { edit }: Mutant, within: RegExp | undefined): boolean {
  if (within === undefined) return true;
  if (!within.test(text)) return false;
  const declaration = parseSync('program.ts', text, { lang: 'ts' }).program.body.find(
    ({ start, end }) => start <= edit.start && edit.end <= end,
  );
  return declaration !== undefined && within.test(text.slice(declaration.start, declaration.end));
}

const lineAt = (text: string, { line }: Mutant): string => text.split('\n')[line - 1]?.trim() ?? '';

/** The programs of these mutants, unchanged but for a note of which mutant would run. */
export function probed(sample: readonly Sampled[], notes: string): Texts {
  const files = Map.groupBy(sample.entries(), ([, { file }]) => file);
  return new Map(
    [...files].map(([file, entries]) => {
      const numbered = entries.map(([index, { mutant }]) => [index, mutant] as const);
      return [file, withProbes(entries[0]?.[1].text ?? '', numbered, notes)];
    }),
  );
}
