import type { Registry, SkillSource } from './registry.ts';
import { beginning, firstSentence } from '#core/lib/text/shorten.ts';
import { introductionOf } from './introduction.ts';
import { createHash } from 'node:crypto';
import type { FrozenTool } from '#snapshots/format/format.ts';

/** The extension for skills (SEP-2640): one text on how to work with the definitions that the caller sees. */
export const SKILLS = 'io.modelcontextprotocol/skills';

const SCHEME = 'skill://';

const MIME_TYPE = 'text/markdown';

/** Limit of the Agent Skills format, in characters. */
const LONGEST_DESCRIPTION = 1_024;

/** Most definitions of a kind in the text; the lists contain all of them. */
const NAMED = 300;

/** Longest description of a definition, in characters. */
const LONGEST_LINE = 300;

export interface Skill {
  readonly uri: string;
  readonly text: string;
  /** The entry in `skills/list` and `skills/get`. */
  readonly entry: Readonly<Record<string, unknown>>;
}

const skills = new WeakMap<Registry, Skill | null>();

/** The skill of a registry; null: the administrator wrote none, so the extension is not offered. */
export function skillOf(registry: Registry): Skill | null {
  const known = skills.get(registry);
  if (known !== undefined) return known;
  const skill = registry.skill === null ? null : makeSkill(registry, registry.skill);
  skills.set(registry, skill);
  return skill;
}

/** The skill at a URI; null: the URI is not that of the skill. */
export const skillAt = (registry: Registry, uri: string): Skill | null => {
  const skill = uri.startsWith(SCHEME) ? skillOf(registry) : null;
  return skill?.uri === uri ? skill : null;
};

/** Lower case letters and digits with hyphens between them, as the format requires. */
export const skillName = (...parts: readonly string[]): string =>
  parts
    .join('-')
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
    .slice(0, 64)
    .replace(/-+$/, '') || 'data';

const uriOf = ({ name }: SkillSource): string => `${SCHEME}${name}/SKILL.md`;

/** The item in `resources/list`. */
export const skillItem = (registry: Registry, skill: SkillSource): string =>
  JSON.stringify({ uri: uriOf(skill), name: skill.name, description: descriptionOf(registry), mimeType: MIME_TYPE });

const descriptionOf = (registry: Registry): string =>
  beginning(registry.instructions ?? introductionOf(registry) ?? 'Data from databases.', LONGEST_DESCRIPTION);

/** The members of the `resources/read` result. */
export const skillContents = ({ uri, text }: Skill): string =>
  `"contents":[${JSON.stringify({ uri, mimeType: MIME_TYPE, text })}]`;

function makeSkill(registry: Registry, source: SkillSource): Skill {
  const uri = uriOf(source);
  const frontmatter = { name: source.name, description: descriptionOf(registry) };
  const text = textOf(registry, source, frontmatter.description);
  const digest = `sha256:${createHash('sha256').update(text).digest('hex')}`;
  return { uri, text, entry: { uri, frontmatter, resources: [{ uri, digest, size: Buffer.byteLength(text) }] } };
}

function textOf(
  { tools, resources, templates, prompts }: Registry,
  { name, title, text }: SkillSource,
  description: string,
): string {
  const all_tools = [...tools.values()].map(({ entity }) => entity);
  const sections = [
    // JSON is YAML.
    `---\nname: ${JSON.stringify(name)}\ndescription: ${JSON.stringify(description)}\n---\n`,
    `# ${title}\n\n${text.trim()}\n`,
    section('Tools', all_tools.map(toolLine)),
    section(
      'Resources',
      [...resources.values(), ...templates].map((one) => lineOf(one.template.text, one.entity.listing)),
    ),
    section(
      'Prompts',
      [...prompts.values()].map(({ entity }) => lineOf(entity.name, entity.listing)),
    ),
    all_tools.length === 0
      ? ''
      : section('Results', [
          'A result with `truncated` true is not complete: ask for less, or for one group at a time.',
          ...(all_tools.some(({ page_by }) => page_by)
            ? ['A result with `next` goes on: call again with the same arguments and `after` set to it.']
            : []),
          'An error says what to change. Do not repeat a call unchanged.',
        ]),
  ];
  return sections.filter((one) => one !== '').join('\n');
}

function section(title: string, lines: readonly string[]): string {
  if (lines.length === 0) return '';
  const rest = lines.length - NAMED;
  const more = rest > 0 ? [`and ${rest} more, which the list of ${title.toLowerCase()} has.`] : [];
  return `## ${title}\n\n${[...lines.slice(0, NAMED), ...more].map((line) => `- ${line}\n`).join('')}`;
}

const toolLine = ({ name, mode, listing }: FrozenTool): string =>
  `${lineOf(name, listing)}${mode === 'write' ? ' Changes data.' : ''}`;

function lineOf(name: string, { title, description }: Readonly<Record<string, unknown>>): string {
  const about = [description, title].find((text) => typeof text === 'string');
  return about === undefined ? `\`${name}\`` : `\`${name}\`: ${firstSentence(about, LONGEST_LINE)}`;
}
