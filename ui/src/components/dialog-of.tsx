import { type ComponentProps, type JSX, Show, splitProps } from 'solid-js';
import { Dialog, Drawer } from './dialog.tsx';

type About<T, Surface extends typeof Dialog | typeof Drawer> = Omit<ComponentProps<Surface>, 'open' | 'title' | 'children'> & {
  of: T | undefined;
  title: string | ((of: NonNullable<T>) => string);
  children: (of: NonNullable<T>) => JSX.Element;
};

/** A dialog about something, open for as long as there is something, and another one for something else. */
export function DialogOf<T>(props: About<T, typeof Dialog>) {
  const [own, surface] = splitProps(props, ['of', 'title', 'children']);
  return (
    <Show when={own.of} keyed>
      {(of) => (
        <Dialog {...surface} open title={typeof own.title === 'string' ? own.title : own.title(of)}>
          {own.children(of)}
        </Dialog>
      )}
    </Show>
  );
}

/** As `DialogOf`, at the right side. */
export function DrawerOf<T>(props: About<T, typeof Drawer>) {
  const [own, surface] = splitProps(props, ['of', 'title', 'children']);
  return (
    <Show when={own.of} keyed>
      {(of) => (
        <Drawer {...surface} open title={typeof own.title === 'string' ? own.title : own.title(of)}>
          {own.children(of)}
        </Drawer>
      )}
    </Show>
  );
}
