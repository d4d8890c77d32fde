import type { Platform } from '#core/platform/platform.ts';
import { forgetCredentials } from '#core/identity/agent-credentials.ts';
import { forgetEvents } from '#core/observe/notices/event-handlers.ts';
import { forgetDeliveries } from '#core/observe/notices/send.ts';
import * as usage from '#core/observe/retention/usage-retention.ts';
import { forgetClosed } from '#core/proposals/rows.ts';

const OTHERS: usage.Forgetters = {
  together: [forgetCredentials, forgetClosed],
  after: [forgetEvents, forgetDeliveries],
};

/** What every room keeps only for a time, forgotten together. @returns the number of request logs that went, null when another server was first. */
export const pruneUsage = (app: Platform, most_logs?: number): Promise<number | null> => usage.pruneUsage(app, OTHERS, most_logs);

/** Forgets at once and whenever it is due, on one server at a time. @returns a function that ends it. */
export const startRetention = (app: Platform, look_ms?: number): (() => void) => usage.startRetention(app, OTHERS, look_ms);
