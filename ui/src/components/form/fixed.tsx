import { createContext, type JSX, useContext } from 'solid-js';

const FixedContext = createContext<() => boolean>(() => false);

/** Whether what stands here is shown to somebody who may not change it. */
export const useFixed = (): (() => boolean) => useContext(FixedContext);

/** Fields that are read and not written while `when` holds: without their buttons, and readable like any text. */
export function Fixed(props: { when: boolean; children: JSX.Element }) {
  const around = useFixed();
  const fixed = () => props.when || around();
  return (
    <FixedContext.Provider value={fixed}>
      <fieldset class="fixed" disabled={props.when}>
        {props.children}
      </fieldset>
    </FixedContext.Provider>
  );
}
