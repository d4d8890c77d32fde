import * as v from 'valibot';

export const GateMode = v.picklist(['off', 'warn', 'block']);
export type GateMode = v.InferOutput<typeof GateMode>;

interface GateSetting {
  readonly label: string;
  readonly help: string;
  /** Until an administrator chooses another. */
  readonly mode: GateMode;
  /** No token may deploy past its findings. */
  readonly people_only?: true;
}

/** The gates of a deploy that administrators set, in the order in which they run. Their checks: `core/deploy/gates/index.ts`. */
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
    help: 'Enabled tests of changed definitions, and of those that depend on them. No token deploys past a failing one.',
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
/** A gate that is left out keeps its mode. */
export const DeployGatesPatch = v.strictObject(ofEach(() => v.optional(GateMode)));

/** What a deploy may pass knowingly. */
export const Allow = v.pipe(
  v.array(GateName),
  v.maxLength(GATE_NAMES.length),
  v.description('Gates whose findings you read and deploy past; history names you and the note'),
);
