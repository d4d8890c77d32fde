import type { DeployApp } from '#core/deploy/app.ts';
import type { WithOverlays } from './overlays.ts';

/** What functions of this room work with. */
export type ProposalsApp = DeployApp & WithOverlays;
