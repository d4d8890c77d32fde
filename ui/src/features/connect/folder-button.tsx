import { Button } from '#ui/src/components/button.tsx';
import { createMutation } from '#ui/src/kernel/data/mutation.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';

/** Makes an empty folder and shows where files are dropped. @param props.name of the connection; `Files` where it is empty. */
export function FolderButton(props: { name?: string; label?: string; onCreated?: () => void }) {
  const { call, router, toasts } = useKernel();
  const make = createMutation(() => call('files.create_folder', { name: props.name?.trim() || 'Files' }));
  const press = async () => {
    const connection = await make.run(undefined);
    if (connection === undefined) return toasts.show(make.problem()?.detail ?? '', 'bad');
    props.onCreated?.();
    router.navigate(`/connections/${connection.id}?tab=files`);
  };
  return (
    <Button needs="files.create_folder" icon="file" busy={make.busy()} onPress={() => void press()}>
      {props.label ?? 'Use a folder of files'}
    </Button>
  );
}
