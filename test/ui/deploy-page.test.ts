import { expect, test } from 'bun:test';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { SnapshotChange } from '#core/contract/deploy/deploy.ts';
import { createApi } from '#ui/src/api.ts';
import { groupChanges, sortChanges, summary } from '#ui/src/features/deploy/changes.ts';
import { diffLines, markWords } from '#core/lib/text/line-diff.ts';
import { highlight, LONGEST_HIGHLIGHT, toFolders, tokensOf } from '#ui/src/pages/deploy/code.ts';
import { zip } from '#ui/src/pages/deploy/zip.ts';
import { createCache } from '#ui/src/kernel/data/cache.ts';
import { createDeployment } from '#ui/src/features/deploy/deployment.ts';

const change = (name: string, over: Partial<SnapshotChange> = {}): SnapshotChange => ({
  entity_type: 'tool',
  name,
  connection_id: null,
  change: 'changed',
  fields: [],
  values: {},
  risks: [],
  breaking: [],
  ...over,
});

test('changes that may break a client come first, then the server, connections and tools', () => {
  const changes = [
    change('b'),
    change('a', { change: 'added' }),
    change('shop', { entity_type: 'connection' }),
    change('Sluice', { entity_type: 'server_config' }),
    change('z', { change: 'removed', breaking: ['The tool z is no longer offered.'] }),
  ];
  expect(sortChanges(changes).map(({ name }) => name)).toEqual(['z', 'Sluice', 'shop', 'b', 'a']);
  expect(summary(changes)).toBe('1 added, 3 changed, 1 removed');
});

test('many changes stand by kind and connection', () => {
  const on = (connection_id: string) => ({ connection_id });
  const changes = [
    change('a', on('1')),
    change('b', on('2')),
    change('c', { entity_type: 'resource', ...on('1') }),
    change('d', { ...on('1'), breaking: ['The tool d is no longer offered.'] }),
    change('e', { entity_type: 'prompt' }),
  ];
  const groups = groupChanges(changes, (id) => ({ '1': 'shop', '2': 'crm' })[id]);
  expect(groups.map(({ title, changes: members }) => [title, members.map(({ name }) => name)])).toEqual([
    ['Tools on shop', ['d', 'a']],
    ['Tools on crm', ['b']],
    ['Resources on shop', ['c']],
    ['Prompts', ['e']],
  ]);
});

test('of two lines that stand in each other’s place the words that differ are marked, of others nothing', () => {
  const lines = diffLines('select id from orders\nlimit 5', 'select id, name from orders\norder by something else');
  const marked = markWords(lines).map((pieces) => pieces.filter((piece) => piece.marked).map(({ text }) => text));
  expect(lines.map(({ kind }) => kind)).toEqual(['removed', 'removed', 'added', 'added']);
  expect(marked[2]?.join('')).toBe(', name');
  expect([marked[0], marked[1], marked[3]]).toEqual([[], [], []]);
  expect(markWords(lines).map((pieces) => pieces.map(({ text }) => text).join(''))).toEqual(lines.map(({ text }) => text));
});

test('the pieces of highlighted code are the code', () => {
  const code = "// note\nconst a = `x ${1}` + 'it\\'s'; /* more\nlines */ return 12n;\n\"open";
  const tokens = highlight(code);
  expect(tokens.map(({ text }) => text).join('')).toBe(code);
  expect(tokens.find(({ kind }) => kind === 'comment')?.text).toBe('// note');
  expect(tokens.some(({ kind, text }) => kind === 'keyword' && text.includes('const'))).toBe(true);
  expect(tokens.some(({ kind, text }) => kind === 'number' && text === '12n')).toBe(true);
  const long = 'const '.repeat(LONGEST_HIGHLIGHT);
  expect(tokensOf({ path: 'a.ts', content: long })).toEqual([{ kind: 'plain', text: long }]);
  expect(tokensOf({ path: 'README.md', content: 'const' })).toEqual([{ kind: 'plain', text: 'const' }]);
});

test('files stand below their folder, the top first', () => {
  const folders = toFolders([{ path: 'src/tools/a.ts' }, { path: 'README.md' }, { path: 'src/main.ts' }]);
  expect(folders.map(({ path, files }) => [path, files.map(({ name }) => name)])).toEqual([
    ['', ['README.md']],
    ['src', ['main.ts']],
    ['src/tools', ['a.ts']],
  ]);
});

test('an archive is one that other programs open', async () => {
  const files = [
    { path: 'README.md', content: '# Größe €\n' },
    { path: 'src/leer.ts', content: '' },
  ];
  const folder = await mkdtemp(join(tmpdir(), 'sluice-zip-'));
  try {
    await Bun.write(join(folder, 'all.zip'), zip(files));
    const script =
      'import sys,zipfile\nz=zipfile.ZipFile(sys.argv[1])\nassert z.testzip() is None\nassert z.namelist()==["README.md","src/leer.ts"],z.namelist()\nz.extractall(sys.argv[2])';
    const python = Bun.which('python3');
    if (python !== null) {
      const run = Bun.spawn([python, '-c', script, join(folder, 'all.zip'), folder], { stderr: 'pipe' });
      expect([await run.exited, await new Response(run.stderr).text()]).toEqual([0, '']);
      for (const { path, content } of files) expect(await readFile(join(folder, path), 'utf8')).toBe(content);
    }
    const bytes = await Bun.file(join(folder, 'all.zip')).bytes();
    expect(Array.from(bytes.slice(0, 4))).toEqual([0x50, 0x4b, 3, 4]);
    expect(zip(files)).toEqual(bytes);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

test('a note goes with the deploy, a dry run says that it is one, a version is served again', async () => {
  const sent: { path: string; body: unknown }[] = [];
  const receipt = { status: 'running', snapshot_version: 2, changed: true, warnings: [], hosts: [], duration_ms: 1 };
  const call = createApi({
    onSessionEnd: () => {},
    fetch: async (url, init) => {
      if (init.method === 'POST')
        sent.push({ path: url, body: typeof init.body === 'string' ? (JSON.parse(init.body) as unknown) : null });
      return Response.json(url.endsWith('/status') ? { status: 'running', hosts: [], pending_changes: 0 } : receipt);
    },
  });
  const deployment = createDeployment(call, createCache(call));
  await deployment.rehearse();
  expect([deployment.rehearsed(), deployment.receipt()?.changed]).toEqual([true, true]);
  deployment.setNote(' first ');
  await deployment.run();
  expect(deployment.rehearsed()).toBe(false);
  deployment.setNote('  ');
  await deployment.run();
  expect(await deployment.activate(7)).toBe(true);
  expect(sent.map(({ path, body }) => [new URL(path, 'http://x').pathname, body])).toEqual([
    ['/api/v1/deploy', { dry_run: true }],
    ['/api/v1/deploy', { note: 'first' }],
    ['/api/v1/deploy', {}],
    ['/api/v1/snapshots/7/activate', {}],
  ]);
});
