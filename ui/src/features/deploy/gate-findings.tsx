import { createSignal, Show } from 'solid-js';
import type { GateFinding } from '#core/contract/deploy/deploy.ts';
import { GATE_NAMES, type GateName } from '#core/contract/settings/deploy-gates.ts';
import { Button } from '#ui/src/components/button.tsx';
import { TextField } from '#ui/src/components/form/field.tsx';
import { Notice } from '#ui/src/components/notice.tsx';
import { generalError, type Problem } from '#ui/src/kernel/problem.ts';
import { num } from '#ui/src/kernel/numbers.ts';
import { useAct } from '#ui/src/components/use-act.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { type Deployment, noted } from './deployment.ts';
import { type Definition, disableAll, unfitIn } from './unfit.ts';
import { definitionOf } from './finding-groups.ts';
import { Findings } from './findings.tsx';

/** The gates that blocked a deploy, in their order. */
const blockingGates = (problem: Problem): GateName[] =>
  problem.code === 'gate_failed' ? GATE_NAMES.filter((name) => problem.errors.some(({ gate }) => gate === name)) : [];

/** Why a deploy did not happen; what gates found can be passed knowingly. */
export function DeployProblem(props: {
  problem: Problem;
  /** What did not happen; absent: a deploy. */
  failed?: string | undefined;
  busy: boolean;
  action: string;
  /** Nothing would have been deployed: there is no reason to keep. */
  dry?: boolean | undefined;
  onAllow: (gates: GateName[], note: string) => void;
  /** Leaves definitions out that do not fit their tables, and deploys the rest. */
  onDisable?: ((unfit: readonly Definition[]) => void) | undefined;
}) {
  const [note, setNote] = createSignal('');
  const gates = () => blockingGates(props.problem);
  const title = () => {
    if (gates().length > 0) return props.dry ? 'A deploy would be blocked' : 'Deploy blocked';
    if (props.failed !== undefined) return props.failed;
    return props.problem.code === 'conflict' ? 'Nothing was deployed' : 'Deploy failed';
  };
  const found = (): GateFinding[] =>
    props.problem.errors
      .filter((error) => error.gate !== undefined || definitionOf(error) !== undefined || error.message !== props.problem.detail)
      .map(({ gate = '', rule = null, field, message }) => ({ gate, rule, field, message }));
  const unfit = () => unfitIn(props.problem);
  return (
    <Notice tone="bad" live title={title()}>
      <Show when={gates().length === 0 && !props.problem.errors.some(definitionOf)}>
        <p>{props.problem.detail}</p>
      </Show>
      <Findings findings={found()} />
      <Show when={props.onDisable !== undefined && unfit().length > 0}>
        <div class="row">
          <Button size="small" busy={props.busy} needs="definitions.update" onPress={() => props.onDisable?.(unfit())}>
            {`Disable ${unfit().length === 1 ? unfit()[0]?.name : num(unfit().length)} and deploy`}
          </Button>
          <span class="small">Disabled definitions stay in the working copy and are left out of the deploy.</span>
        </div>
      </Show>
      <Show when={gates().length > 0}>
        <p class="small">
          Fix these findings, or deploy despite them.
          <Show when={!props.dry}> The history records your name and the note.</Show>
        </p>
        <Show when={!props.dry}>
          <TextField label="Reason" optional value={note()} onInput={setNote} hint="Shown with this version in the history." />
        </Show>
        <div class="row">
          <Button size="small" kind="danger" busy={props.busy} needs="deploy.run" onPress={() => props.onAllow(gates(), note())}>
            {props.action}
          </Button>
        </div>
      </Show>
    </Notice>
  );
}

/**
 * Why the last attempt of a deployment failed; repeating it repeats exactly that attempt.
 * @param props.beside fields that show what is wrong with them.
 */
export function LastProblem(props: { deployment: Deployment; beside?: readonly string[]; onRepeated?: () => void }) {
  const { call } = useKernel();
  const { act } = useAct();
  const problem = () => {
    const found = props.deployment.problem();
    return generalError(found, props.beside ?? []) === undefined ? undefined : found;
  };
  const repeat = async (allow: GateName[], note: string) => {
    const done = await props.deployment.attempt()?.repeat({ allow, ...noted(note) });
    if (done === true) props.onRepeated?.();
  };
  const disable = async (unfit: readonly Definition[]) => {
    const done = await act(() => disableAll(call, unfit), 'Disabled. Deploying the rest.');
    if (done === undefined) return;
    await props.deployment.diff.reload();
    if (await props.deployment.run()) props.onRepeated?.();
  };
  return (
    <Show when={problem()}>
      {(shown) => (
        <DeployProblem
          problem={shown()}
          failed={props.deployment.failed()}
          busy={props.deployment.phase() !== 'idle'}
          action={props.deployment.attempt()?.anyway ?? ''}
          dry={props.deployment.attempt()?.dry}
          onDisable={(unfit) => void disable(unfit)}
          onAllow={(allow, note) => void repeat(allow, note)}
        />
      )}
    </Show>
  );
}
