import type { Connection } from '#core/contract/definitions/connections.ts';
import { Button } from '#ui/src/components/button.tsx';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { createMutation } from '#ui/src/kernel/data/mutation.ts';

/** Connects the sample shop, for those who want to look around first. */
export function SampleButton(props: { onDone: (connection: Connection) => void }) {
  const { call, toasts } = useKernel();
  const make = createMutation(() => call('connections.create_sample', {}));
  const press = async () => {
    const connection = await make.run(undefined);
    if (connection === undefined) return toasts.show(make.problem()?.detail ?? '', 'bad');
    toasts.show(`Connected “${connection.name}”.`, 'good');
    props.onDone(connection);
  };
  return (
    <Button needs="connections.create_sample" icon="database" busy={make.busy()} onPress={() => void press()}>
      Use the sample database
    </Button>
  );
}
