import type { DeployApp } from '#core/deploy/app.ts';
import type { HistoryApp } from '#core/history/restorables.ts';

/** What functions of this room work with. */
export type AgentToolsApp = DeployApp & HistoryApp;
