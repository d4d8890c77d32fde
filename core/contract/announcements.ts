import type { OperationName } from './index.ts';

/**
 * What pages are told to have changed: an operation that was run, or what happens without one. They read again what they show of it;
 * who misses an announcement reads a little later.
 */
export type Announcement = OperationName | Happening;

export type Happening = 'calls' | 'queue' | 'hosts' | 'notices' | 'oauth_attempts' | 'agent_activity' | 'ssl' | 'canary';
