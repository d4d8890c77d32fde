import type { IconName } from '../icon.tsx';

/** The first has no heading: it is where one begins. */
export const NAV_GROUPS = ['', 'Build', 'Run', 'Observe', 'Access', 'System'] as const;

/** The pages that the navigation leads to, and the key of each after `g`. The one without a group is in the menu of the person. */
export const NAV: readonly (readonly [
  path: string,
  group: (typeof NAV_GROUPS)[number] | undefined,
  icon: IconName,
  letter: string,
])[] = [
  ['/', '', 'gauge', 'o'],
  ['/connections', 'Build', 'database', 'c'],
  ['/tools', 'Build', 'tool', 't'],
  ['/resources', 'Build', 'file', 'r'],
  ['/prompts', 'Build', 'message', 'p'],
  ['/toolsets', 'Build', 'filter', 'b'],
  ['/tests', 'Build', 'check', 'x'],
  ['/flow', 'Build', 'flow', 'f'],
  ['/deploy', 'Run', 'rocket', 'd'],
  ['/proposals', 'Run', 'message', 'v'],
  ['/playground', 'Run', 'play', 'y'],
  ['/metrics', 'Observe', 'chart', 'm'],
  ['/insights', 'Observe', 'bolt', 'n'],
  ['/logs', 'Observe', 'list', 'l'],
  ['/queue', 'Observe', 'queue', 'q'],
  ['/history', 'Observe', 'history', 'h'],
  ['/access', 'Access', 'link', 'a'],
  ['/people', 'Access', 'user', 'e'],
  ['/agents', 'Access', 'bot', 'g'],
  ['/sign-in', 'Access', 'key', 'k'],
  ['/transfer', 'System', 'swap', 'i'],
  ['/settings', 'System', 'sliders', 's'],
  ['/account', undefined, 'user', 'u'],
];

/** What is created from anywhere, and where. */
export const CREATIONS = [
  ['Create tool', '/tools/new'],
  ['Create resource', '/resources/new'],
  ['Create prompt', '/prompts/new'],
  ['Create toolset', '/toolsets/new'],
  ['New connection', '/connections/new'],
  ['New access token for MCP clients', '/access?ask=token'],
  ['Invite person', '/people?ask=invite'],
] as const;
