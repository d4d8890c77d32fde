import { accessGate } from './access.ts';
import { exposureGate } from './exposure.ts';
import type { DeployGate } from './gate.ts';
import { listenerGate } from './listener.ts';
import { prepareGate } from './prepare.ts';
import { signInGate } from './sign-in.ts';

/** In the order in which they run. Exposure once more at the end: the hosts may have taken seconds. */
export const GATES: readonly DeployGate[] = [prepareGate, accessGate, signInGate, exposureGate, listenerGate, exposureGate];

/** Those that only look. */
export const REHEARSED: readonly DeployGate[] = GATES.filter(({ acts }) => acts !== true);
