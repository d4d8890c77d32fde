import * as v from 'valibot';
import { valuesOf } from '../marks.ts';

export const GATE_CHOICES = { off: { label: 'Off' }, warn: { label: 'Warn' }, block: { label: 'Block the deploy' } };
export const GateMode = v.picklist(valuesOf(GATE_CHOICES));
export type GateMode = v.InferOutput<typeof GateMode>;

interface GateSetting {
  readonly label: string;
  readonly help: string;
  /** The default. */
  readonly mode: GateMode;
  /** Tokens cannot deploy past its findings. */
  readonly people_only?: true;
}

/**
 * Deploy gates that administrators configure, in the order in which they run. Their checks are in `core/deploy/gates/index.ts`.
 */
const SETTINGS = {
  breaking: {
    label: 'Breaking changes',
    help: 'Changes that may break clients of the deployed version.',
    mode: 'warn',
  },
  lint: {
    label: 'Lint',
    help: 'Lint findings in definitions that the deploy adds or changes. Advice (severity info) never blocks.',
    mode: 'warn',
  },
  tests: {
    label: 'Tests',
    help: 'Enabled tests of changed definitions, and of those that depend on them. A token cannot deploy while one of them fails.',
    mode: 'block',
    people_only: true,
  },
  drift: {
    label: 'Drift',
    help: 'Definitions whose tables have changed since they were saved.',
    mode: 'warn',
  },
} as const satisfies Record<string, GateSetting>;

export type GateName = keyof typeof SETTINGS;
export const DEPLOY_GATES: Readonly<Record<GateName, GateSetting>> = SETTINGS;
export const GATE_NAMES = Object.keys(SETTINGS) as readonly GateName[];
export const GateName = v.picklist(GATE_NAMES);

const ofEach = <T>(value: (name: GateName) => T) =>
  Object.fromEntries(GATE_NAMES.map((name) => [name, value(name)])) as Record<GateName, T>;
export const DEFAULT_GATES = ofEach((name) => DEPLOY_GATES[name].mode);

export const DeployGates = v.object(ofEach(() => GateMode));
export type DeployGates = v.InferOutput<typeof DeployGates>;
/** A missing gate stays unchanged. */
export const DeployGatesPatch = v.strictObject(ofEach(() => v.optional(GateMode)));

/** Gates whose findings the deploy ignores on request. */
export const Allow = v.pipe(
  v.array(GateName),
  v.maxLength(GATE_NAMES.length),
  v.description('Gates whose findings you read and deploy past; history names you and the note'),
);
