import { createEffect, createSignal, on, onCleanup, onMount } from 'solid-js';
import { useRetry } from '#ui/src/components/use-query.ts';
import { useCommands, useKernel } from '#ui/src/kernel/kernel.ts';
import { createDeployment } from './deployment.ts';

/** The deployment for as long as a page is there, with the commands that ask before they act. */
export function useDeployment() {
  const { cache, call, dialogs, router, session, toasts } = useKernel();
  const created = createDeployment(call, cache);
  const deployment = { ...created, status: useRetry(created.status), diff: useRetry(created.diff) };
  const [asking, setAsking] = createSignal(false);
  const status = () => deployment.status.data();
  const ask = () => {
    if (deployment.phase() !== 'idle' || status() === undefined) return;
    setAsking(true);
    void deployment.diff.reload();
  };
  const stop = async () => {
    const live = status();
    if (live === undefined || live.status === 'stopped') return;
    const agreed = await dialogs.confirm({
      title: 'Stop serving MCP clients?',
      text: 'New requests get 503 until the next deploy. Running calls get ten seconds to finish. Hosts keep running, and nothing is deleted.',
      action: 'Stop serving',
      cancel: 'Cancel',
      danger: true,
    });
    if (agreed && (await deployment.stop())) toasts.show('Stopped. MCP clients get 503 until the next deploy.');
  };
  onMount(() => void deployment.show());
  onCleanup(deployment.close);
  const compareOnceIdle = () => {
    if (deployment.phase() === 'idle') deployment.compare();
  };
  createEffect(on(deployment.status.data, compareOnceIdle, { defer: true }));
  useCommands([
    {
      id: 'deploy',
      title: 'Deploy',
      group: 'Server',
      key: 'd',
      keywords: 'publish release go live',
      needs: 'deploy.run',
      run: ask,
    },
    { id: 'deploy-stop', title: 'Stop serving MCP clients', group: 'Server', needs: 'deploy.stop', run: () => void stop() },
  ]);
  // From another page: `/deploy?ask=deploy`.
  createEffect(
    on([() => router.query().get('ask'), () => status() === undefined], ([action, loading]) => {
      if (loading || action === null) return;
      router.setQuery({ ask: '' });
      if (action === 'deploy' && session.may('deploy.run')) ask();
      if (action === 'stop' && session.may('deploy.stop')) void stop();
    }),
  );
  return { deployment, asking, ask, close: () => setAsking(false), stop };
}
