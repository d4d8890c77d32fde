import { GATE_NAMES, type GateName } from '#core/contract/settings/deploy-gates.ts';
import { accessGate } from './access.ts';
import { breakingGate } from './breaking.ts';
import { credentialsGate } from './credentials.ts';
import { driftGate } from './drift.ts';
import { exposureGate } from './exposure.ts';
import type { DeployGate } from './gate.ts';
import { lintGate } from './lint.ts';
import { listenerGate } from './listener.ts';
import { prepareGate } from './prepare.ts';
import { signInGate } from './sign-in.ts';
import { testsGate } from './tests.ts';

/** The check of each gate that administrators set (`core/contract/settings/deploy-gates.ts`). */
const ADJUSTABLE: Readonly<Record<GateName, DeployGate>> = {
  breaking: breakingGate,
  lint: lintGate,
  tests: testsGate,
  drift: driftGate,
};

/** In the order in which they run. Exposure once more at the end: the hosts may have taken seconds. */
export const GATES: readonly DeployGate[] = [
  prepareGate,
  accessGate,
  signInGate,
  exposureGate,
  listenerGate,
  credentialsGate,
  ...GATE_NAMES.map((name) => ADJUSTABLE[name]),
  exposureGate,
];

/** Those that only look. */
export const REHEARSED: readonly DeployGate[] = GATES.filter(({ has_effects }) => has_effects !== true);
