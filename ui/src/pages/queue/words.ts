import { plural } from '#ui/src/kernel/words.ts';

export const WORDS = {
  title: 'Queue',
  lead: 'How busy each database is now: what runs, what waits, and what was turned away since its hosts started.',
  running: 'Running',
  waiting: 'Waiting',
  completed: 'Completed',
  rejected: 'Turned away',
  timed_out: 'Waited too long',
  average_wait: 'Average wait',
  p95_wait: 'p95 wait',
  of: (active: number, limit: number) => `${active} of ${limit}`,
  running_of: (active: number, limit: number) => `${plural(active, 'call')} of at most ${limit} run`,
  busy: 'Busy',
  calm: 'Free',
  full: 'Calls wait',
  idle: 'Not used by a host',
  idle_hint: 'No tool of this connection is deployed, or no host is connected.',
  calls: 'See its calls',
  settings: 'Change its limits',
  since_start: 'Since the hosts started',
  empty: 'No database is connected',
  empty_text: 'Each connection has a queue of its own, so that a slow database holds up nobody else.',
  connect: 'Connect a database',
  advice:
    'Calls are turned away or wait. Raise the limit of calls at once, if the database can bear more, or make the slow tools faster.',
  slow_tools: 'Find the slow tools',
} as const;
