import type { OperationName } from './index.ts';

/**
 * Events that tell open pages what changed: an operation, or a change without one. The page then reads its data again; a page
 * that misses an event does so a little later.
 */
export type Announcement = OperationName | Happening;

export type Happening =
  | 'audit'
  | 'calls'
  | 'queue'
  | 'hosts'
  | 'notices'
  | 'oauth_attempts'
  | 'agent_activity'
  | 'ssl'
  | 'canary';
