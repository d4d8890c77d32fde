import { GATE_NAMES, type GateName } from '#core/contract/settings/deploy-gates.ts';
import { credentialsGate } from './credentials.ts';
import { breakingGate, driftGate, lintGate } from './definitions.ts';
import type { DeployGate } from './gate.ts';
import { listenerGate } from './listener.ts';
import { prepareGate } from './prepare.ts';
import { accessGate, exposureGate, signInGate } from './sign-in.ts';
import { testsGate } from './tests.ts';

/** The check of each gate that administrators set (`core/contract/settings/deploy-gates.ts`). */
const ADJUSTABLE: Readonly<Record<GateName, DeployGate>> = {
  breaking: breakingGate,
  lint: lintGate,
  tests: testsGate,
  drift: driftGate,
};

/** In the order in which they run. Exposure runs again at the end, because waiting for hosts may have taken seconds. */
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

/** The gates without effects, for dry runs. */
export const DRY_RUN_GATES: readonly DeployGate[] = GATES.filter(({ has_effects }) => has_effects !== true);
