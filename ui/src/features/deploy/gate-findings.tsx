import { createSignal, For, Show } from 'solid-js';
import { DEPLOY_GATES, GATE_NAMES, type GateName } from '#core/contract/settings/deploy-gates.ts';
import { Button } from '#ui/src/components/button.tsx';
import { TextField } from '#ui/src/components/form/field.tsx';
import { Bullets } from '#ui/src/components/show/bullets.tsx';
import { Notice } from '#ui/src/components/notice.tsx';
import { generalError, type Problem } from '#ui/src/kernel/problem.ts';
import { type Deployment, noted } from './deployment.ts';

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
}) {
  const [note, setNote] = createSignal('');
  const gates = () => blockingGates(props.problem);
  const title = () => {
    if (gates().length > 0) return props.dry ? 'A deploy would be blocked' : 'Deploy blocked';
    if (props.failed !== undefined) return props.failed;
    return props.problem.code === 'conflict' ? 'Nothing was deployed' : 'Deploy failed';
  };
  const others = () => props.problem.errors.filter(({ gate, message }) => gate === undefined && message !== props.problem.detail);
  return (
    <Notice tone="bad" live title={title()}>
      <Show when={gates().length === 0}>
        <p>{props.problem.detail}</p>
      </Show>
      <For each={gates()}>
        {(name) => (
          <section class="stack" data-gap="2" aria-label={DEPLOY_GATES[name].label}>
            <h3>{DEPLOY_GATES[name].label}</h3>
            <Bullets of={props.problem.errors.filter(({ gate }) => gate === name).map(({ message }) => message)} />
          </section>
        )}
      </For>
      <Bullets of={others().map(({ message }) => message)} />
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
  const problem = () => {
    const found = props.deployment.problem();
    return generalError(found, props.beside ?? []) === undefined ? undefined : found;
  };
  const repeat = async (allow: GateName[], note: string) => {
    const done = await props.deployment.attempt()?.repeat({ allow, ...noted(note) });
    if (done === true) props.onRepeated?.();
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
          onAllow={(allow, note) => void repeat(allow, note)}
        />
      )}
    </Show>
  );
}
