import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { Readable } from 'node:stream';
import { agentTools } from '#agent/tools/tools.ts';
import { MOST_MASKS } from '#core/contract/definitions/masks.ts';
import { MAX_RESULTS, MOST_TESTS } from '#core/contract/definitions/tests.ts';
import { MOST_TOOLSETS } from '#core/contract/definitions/toolsets.ts';
import { MOST_CANDIDATES } from '#core/contract/deploy/candidates.ts';
import { ENTITIES } from '#core/contract/entities.ts';
import { MOST_GROUPS, MOST_PEOPLE } from '#core/contract/identity/people.ts';
import { MOST_NOTICES } from '#core/contract/observe/notices.ts';
import { HOURS_RETENTION_DAYS, MINUTES_RETENTION_DAYS } from '#core/contract/observe/metric-ranges.ts';
import { MAX_EVENTS_PER_KIND, EVENTS_RETENTION_DAYS } from '#core/contract/observe/notice-events.ts';
import { CLOSED_PROPOSAL_DAYS, MOST_OPEN_OF_AUTHOR, MOST_OPEN_PROPOSALS, MOST_OPERATIONS } from '#core/contract/proposals.ts';
import { MOST_CLIENTS, MOST_VARIABLES } from '#core/contract/settings/config.ts';
import { MOST_ISSUERS } from '#core/contract/settings/jwt-issuers.ts';
import { frozenSettings, plainSettings } from '#core/contract/settings/settings.ts';
import { MAX_SNAPSHOTS } from '#core/versions/stored-snapshots.ts';
import { type Setting, SETTINGS } from '#core/process/env/settings.ts';
import { MOST_APPS } from '#core/identity/oauth/clients/stored-apps.ts';
import { MOST_GRANTS } from '#core/identity/oauth/grants.ts';
import { runCli } from '#server/cli/program.ts';
import { withTable } from '#server/write-settings.ts';

const textOf = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
/** The value beside a word in a table. */
const valueOf = (page: string, word: string): string | undefined =>
  page
    .split('\n')
    .find((line) => line.startsWith(`| ${word} |`))
    ?.split('|')[2]
    ?.trim();

test('OPERATIONS.md says how many there can be of what', () => {
  const page = textOf('OPERATIONS.md');
  const limits = {
    people: MOST_PEOPLE,
    'groups of a person': MOST_GROUPS,
    toolsets: MOST_TOOLSETS,
    'tests of a definition': MOST_TESTS,
    'masks of a definition': MOST_MASKS,
    'global variables': MOST_VARIABLES,
    'candidates at a time': MOST_CANDIDATES,
    'open proposals': MOST_OPEN_PROPOSALS,
    'open proposals of one author': MOST_OPEN_OF_AUTHOR,
    'operations in a proposal': MOST_OPERATIONS,
    webhooks: MOST_NOTICES,
    'OAuth clients of `oauth_clients`': MOST_CLIENTS,
    'issuers of `jwt_issuers`': MOST_ISSUERS,
    'OAuth apps': MOST_APPS,
    'sign-in grants': MOST_GRANTS,
    'tools, resources and prompts in an import, each': ENTITIES.tool.most_imported,
  };
  const written = Object.keys(limits).map((word) => [word, valueOf(page, word)]);
  expect(written).toEqual(Object.entries(limits).map(([word, most]) => [word, most.toLocaleString('en')]));
});

test('docs/backup.md says how long what is kept', () => {
  const page = textOf('docs/backup.md');
  expect(valueOf(page, 'metrics')).toBe(`per minute ${MINUTES_RETENTION_DAYS} days, per hour ${HOURS_RETENTION_DAYS} days`);
  expect(valueOf(page, 'versions')).toBe(`${MAX_SNAPSHOTS}, always with the active one`);
  expect(valueOf(page, 'results of tests')).toBe(`${MAX_RESULTS} per test`);
  expect(valueOf(page, 'closed proposals')).toBe(`${CLOSED_PROPOSAL_DAYS} days`);
  expect(valueOf(page, 'notices')).toBe(`${EVENTS_RETENTION_DAYS} days, ${MAX_EVENTS_PER_KIND} of each event`);
});

test('docs/access.md counts the tools of agents', () => {
  expect(textOf('docs/access.md')).toContain(`offers ${agentTools().size} MCP tools`);
});

test('`sluice --help` and OPERATIONS.md name every variable of the commands that talk to a running server', async () => {
  const sources = [...new Bun.Glob('server/cli/**/*.ts').scanSync(new URL('../..', import.meta.url).pathname)]
    .map(textOf)
    .join('\n');
  const read = [
    ...new Set([...sources.matchAll(/(?:environment\['|\b)(SLUICE_[A-Z_]+)(?:'\]|: )/g)].map(([, name]) => name ?? '')),
  ];
  expect(read.length).toBeGreaterThan(5);
  let help = '';
  const out = (text: string) => void (help += text);
  await runCli(['--help'], { environment: {}, stdin: Readable.from([]), out, err: out });
  const missing = read.filter((name) => !help.includes(name) || !textOf('OPERATIONS.md').includes(name));
  expect(missing).toEqual([]);
});

test('docs/settings.md lists every variable as it is, or `bun server/write-settings.ts` has to run', () => {
  const page = textOf('docs/settings.md');
  expect(page).toContain('<!-- settings -->');
  expect(page, 'Run `bun server/write-settings.ts`.').toBe(withTable(page));
});

test('docs/settings.md names every field of the server configuration', () => {
  const page = textOf('docs/settings.md');
  const missing = Object.keys({ ...frozenSettings, ...plainSettings }).filter((name) => !page.includes(`\`${name}\``));
  expect(missing).toEqual([]);
});

test('every setting is read by some program', async () => {
  const files = ['core', 'server', 'mcp-host', 'agent'].flatMap((folder) => [
    ...new Bun.Glob(`${folder}/**/*.ts`).scanSync(new URL('../..', import.meta.url).pathname),
  ]);
  const sources = files.filter((file) => file !== 'core/process/env.ts' && file !== 'core/process/env/settings.ts').map(textOf);
  const all = sources.join('\n');
  const unread = Object.entries(SETTINGS as Record<string, Setting<unknown>>).filter(([name]) => !all.includes(name));
  expect(unread.map(([name]) => name)).toEqual([]);
});
