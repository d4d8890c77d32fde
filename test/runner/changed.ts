import { ROOT } from './layers.ts';

const EVERYTHING = [''];

/**
 * Which tests a change of the product touches, beside those in the folder of the same name: of the entries whose subject a path begins
 * with, the longest counts. The tests that judge the tree as a whole (`test/*.test.ts`) always run.
 */
const SUBJECTS: readonly (readonly [subject: string, tests: readonly string[]])[] = [
  ['agent/', []],
  ['core/', ['test/server/', 'test/agent/', 'test/mcp-host/']],
  ['core/client/', ['test/agent/', 'test/ui/']],
  ['core/cluster/', ['test/server/hosts/', 'test/server/leases', 'test/mcp-host/limits/']],
  ['core/contract/', ['test/core/', 'test/server/', 'test/agent/', 'test/ui/', 'test/snapshots/']],
  [
    'core/definitions/',
    ['test/server/definitions/', 'test/core/definitions/lint/', 'test/server/transfer/', 'test/agent/', 'test/ui/'],
  ],
  ['core/deploy/', ['test/server/deploy/', 'test/server/hosts/', 'test/server/transfer/', 'test/snapshots/']],
  ['core/edge/', ['test/mcp-host/transports/', 'test/server/front', 'test/server/listen', 'test/agent/']],
  ['core/engines/', ['test/core/lib/sql/', 'test/mcp-host/call/', 'test/server/definitions/', 'test/snapshots/']],
  ['core/engines/clickhouse/', ['test/core/engines/shared/', 'test/server/definitions/clickhouse']],
  ['core/engines/duckdb/', ['test/core/engines/shared/', 'test/server/definitions/']],
  ['core/engines/libsql/', ['test/core/engines/sqlite/', 'test/core/engines/shared/']],
  ['core/engines/mysql/', ['test/core/engines/shared/', 'test/mcp-host/call/']],
  ['core/engines/postgresql/', ['test/core/engines/shared/', 'test/core/lib/sql/', 'test/mcp-host/call/']],
  ['core/engines/sqlite/', ['test/core/engines/libsql/', 'test/core/engines/shared/', 'test/mcp-host/call/']],
  [
    'core/identity/',
    ['test/server/identity/', 'test/server/attacks/', 'test/mcp-host/auth/', 'test/agent/', 'test/e2e/ui-sign-in'],
  ],
  ['core/query/', ['test/core/engines/', 'test/mcp-host/call/', 'test/server/definitions/', 'test/snapshots/']],
  ['core/lib/', ['test/core/', 'test/server/definitions/', 'test/mcp-host/', 'test/snapshots/', 'test/ui/']],
  ['core/lib/pattern/', ['test/core/lib/', 'test/server/definitions/']],
  ['core/lib/postgres/', ['test/core/engines/postgresql/', 'test/core/store/']],
  ['core/lib/prompt-guard/', ['test/server/definitions/', 'test/server/attacks/']],
  ['core/lib/search/', ['test/server/definitions/search', 'test/ui/']],
  ['core/lib/sql/', ['test/core/engines/', 'test/server/definitions/', 'test/snapshots/']],
  ['core/lib/template/', ['test/mcp-host/call/', 'test/server/definitions/']],
  ['core/history/', ['test/server/observe/', 'test/server/transfer/', 'test/server/definitions/', 'test/server/identity/']],
  ['core/hosts/', ['test/server/hosts/', 'test/server/deploy/', 'test/server/observe/']],
  ['core/server-config/', ['test/server/definitions/', 'test/server/tls/', 'test/server/identity/']],
  ['core/versions/', ['test/server/deploy/', 'test/server/hosts/', 'test/server/identity/', 'test/server/transfer/']],
  ['core/observe/', ['test/server/observe/', 'test/server/transfer/', 'test/ui/']],
  ['core/proposals/', ['test/server/proposals/', 'test/agent/proposals', 'test/agent/every-tool']],
  ['core/store/', ['test/server/']],
  ['core/transfer/', ['test/server/transfer/', 'test/server/definitions/', 'test/agent/changes']],
  ['docs/', ['test/core/readme']],
  ['mcp-host/', ['test/conformance/', 'test/view/', 'test/faults/locks']],
  ['mcp-host/connections/', ['test/mcp-host/call/', 'test/mcp-host/limits/']],
  ['mcp-host/control/', ['test/server/deploy/', 'test/server/hosts/']],
  ['mcp-host/dispatch/', ['test/mcp-host/', 'test/conformance/']],
  ['mcp-host/registry/', ['test/mcp-host/', 'test/server/deploy/', 'test/conformance/']],
  ['mcp-host/requests/', ['test/mcp-host/', 'test/conformance/']],
  ['mcp-host/auth/', ['test/server/identity/']],
  ['mcp-host/call/', ['test/mcp-host/replay/', 'test/mcp-host/toolsets/', 'test/view/']],
  ['mcp-host/edge/', ['test/snapshots/bundle/']],
  ['mcp-host/limits/', ['test/mcp-host/call/']],
  ['mcp-host/observe/', ['test/server/observe/']],
  ['mcp-host/protocol/', ['test/mcp-host/transports/', 'test/conformance/']],
  ['mcp-host/transports/', ['test/mcp-host/protocol/', 'test/conformance/']],
  ['server/', ['test/agent/']],
  ['server/cli/', ['test/server/cli', 'test/server/cli-bundle', 'test/server/cli-migrations', 'test/server/transfer/']],
  ['server/hosts/', ['test/server/deploy/', 'test/server/observe/']],
  ['server/http/', ['test/server/', 'test/core/edge/', 'test/agent/']],
  ['server/tls/', []],
  ['snapshots/', ['test/mcp-host/control/', 'test/server/deploy/']],
  ['snapshots/bundle/', []],
  ['snapshots/generate/', ['test/snapshots/']],
  ['ui/', ['test/e2e/', 'test/view/']],
];

/** Prose and pictures that no test but those of the tree reads. */
const PROSE = /^(LICENSE|[\w-]+\.md|test\/.*\.md|test\/e2e\/looks\/)/;

/** Entries for `isIn`: the tests that changed paths touch. `''` is all of them. */
export function touchedBy(paths: readonly string[]): readonly string[] {
  return [...new Set(paths.flatMap(touched))];
}

function touched(path: string): readonly string[] {
  if (PROSE.test(path)) return ['test/core/readme', 'test/docs/'];
  if (path.startsWith('test/support/') || path.startsWith('test/runner/')) return EVERYTHING;
  if (/^test\/.+\.test\.tsx?$/.test(path)) return [path.replace(/\.test\.tsx?$/, '')];
  if (path.startsWith('test/')) return [path.slice(0, path.lastIndexOf('/') + 1)];
  const [longest] = SUBJECTS.filter(([subject]) => path.startsWith(subject)).toSorted(([a], [b]) => b.length - a.length);
  if (longest === undefined) return EVERYTHING;
  const [subject, tests] = longest;
  return [`test/${subject}`, ...tests];
}

/** Paths that differ from a commit, those that git does not know yet among them. */
export function changedPaths(since: string): string[] {
  const git = (...args: string[]) => {
    const { success, stdout, stderr } = Bun.spawnSync(['git', ...args], { cwd: ROOT });
    if (!success) throw new Error(`git ${args.join(' ')}: ${stderr.toString().trim()}`);
    return stdout.toString().split('\n').filter(Boolean);
  };
  return [...git('diff', '--name-only', '--no-renames', since), ...git('ls-files', '--others', '--exclude-standard')];
}

export const subjects = (): readonly string[] => SUBJECTS.map(([subject]) => subject);
export const testsOfSubjects = (): readonly string[] => SUBJECTS.flatMap(([, tests]) => tests);
