import type { Output } from '#core/contract/index.ts';
import type { Tone } from '#ui/src/components/badge.tsx';
import { plural } from '#ui/src/kernel/words.ts';

type Entry = Output<'history.list'>['items'][number];

export const STATUS_WORDS = {
  running: { word: 'Running', tone: 'good' },
  deploying: { word: 'Deploying', tone: 'water' },
  stopped: { word: 'Stopped', tone: 'plain' },
  error: { word: 'Not serving', tone: 'bad' },
} as const satisfies Record<string, { word: string; tone: Tone }>;

export const ACTION_WORDS = {
  create: 'created',
  update: 'changed',
  delete: 'deleted',
  rollback: 'rolled back',
  import: 'imported',
  deploy: 'deployed',
  blocked: 'was kept from saving',
} as const satisfies Record<Entry['action'], string>;
export const ENTITY_WORDS = {
  connection: 'connection',
  tool: 'tool',
  resource: 'resource',
  prompt: 'prompt',
  server_config: 'the settings of',
  mcp_token: 'access token',
  agent_token: 'agent token',
  oauth_client: 'OAuth client',
  admin: 'account',
  snapshot: 'version',
} as const satisfies Record<Entry['entity_type'], string>;

export const WORDS = {
  title: 'Overview',
  offline: 'The server does not answer. Trying again every two seconds.',
  period: 'Period',
  steps_title: 'Finish setting up',
  steps_text: (left: number) => `${plural(left, 'step')} to a client that calls your tools.`,
  steps_go: 'Go on',
  steps_skip: 'Not now',
  calls: 'Calls',
  errors: 'Errors',
  duration: 'Average',
  slowest: (p95: string) => `p95 up to ${p95}`,
  queue: 'Queue',
  waiting: (waiting: number) => `${waiting.toLocaleString('en')} waiting`,
  running: (active: number, limit: number) => `${active} of ${limit} places taken`,
  no_queue: 'No host reports',
  hosts: 'Hosts',
  no_host: 'None is connected',
  behind: (hosts: number) => `${plural(hosts, 'host')} not on this version`,
  all_current: 'All on this version',
  none_serves: 'Ready, nothing deployed yet',
  databases: 'Databases',
  not_answering: (names: string) => `No answer: ${names}`,
  all_answer: 'All answer',
  none_deployed: 'None is deployed',
  of: (part: number, all: number) => `${part} of ${all}`,
  share: (share: string) => `${share} of the calls`,
  last: (period: string) => `Last ${period}`,
  traffic: 'Calls and errors',
  traffic_label: (period: string) => `Calls and errors, last ${period}`,
  to_metrics: 'Metrics',
  top: 'Most called',
  top_empty: 'Nothing was called in this time.',
  top_try: 'Call a tool in the playground',
  failures: 'Newest failures',
  no_failures: 'No call failed in this time.',
  to_failures: 'All failures',
  changes: 'Waiting for a deploy',
  review: 'See them all',
  breaking: 'may break clients',
  activity: 'Recent changes',
  no_activity: 'Nothing was changed yet.',
  to_history: 'History',
  more: (count: number) => `and ${plural(count, 'more', 'more')}`,
} as const;
