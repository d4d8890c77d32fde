import { createSignal } from 'solid-js';
import { isDecided, type MergeInput, type Merged } from './form/merge.ts';

export interface ConfirmRequest {
  readonly title: string;
  readonly text?: string;
  /** What will be gone, one line each. */
  readonly goes?: readonly string[];
  /** What the button that does it says. */
  readonly action: string;
  readonly cancel?: string;
  readonly danger?: boolean;
  /** The name that has to be typed first. */
  readonly type_to_confirm?: string;
}

export type OpenQuestion =
  | { readonly kind: 'confirm'; readonly request: ConfirmRequest; readonly answer: (agreed: boolean) => void }
  | { readonly kind: 'prove'; readonly request: readonly string[]; readonly answer: (proved: boolean) => void }
  | { readonly kind: 'propose'; readonly request: readonly string[]; readonly answer: (note: string | null) => void }
  | { readonly kind: 'conflict'; readonly request: MergeInput; readonly answer: (merged: Merged | undefined) => void };

/** Questions that interrupt. One at a time; a second waits for the first. */
export interface Dialogs {
  readonly question: () => OpenQuestion | undefined;
  confirm(request: ConfirmRequest): Promise<boolean>;
  /** Before a dangerous change: resolves to whether the person proved who they are. @param dangers what it does. */
  prove(dangers: readonly string[]): Promise<boolean>;
  /** Before a change that needs a second person: resolves to why it is proposed, or to null. @param dangers what it does. */
  propose(dangers: readonly string[]): Promise<string | null>;
  /** Three versions of one record: resolves to the values to save, at once when there is nothing to choose, to `theirs`, or to undefined when nothing was chosen. */
  conflict(request: MergeInput): Promise<Merged | undefined>;
}

export function createDialogs(): Dialogs {
  const [waiting, setWaiting] = createSignal<readonly OpenQuestion[]>([]);
  const ask = <T>(make: (answer: (value: T) => void) => OpenQuestion): Promise<T> =>
    new Promise((resolve) => {
      const question = make((value) => {
        setWaiting((list) => list.filter((other) => other !== question));
        resolve(value);
      });
      setWaiting((list) => [...list, question]);
    });
  return {
    question: () => waiting()[0],
    confirm: (request) => ask<boolean>((answer) => ({ kind: 'confirm', request, answer })),
    prove: (request) => ask<boolean>((answer) => ({ kind: 'prove', request, answer })),
    propose: (dangers) => ask<string | null>((answer) => ({ kind: 'propose', request: dangers, answer })),
    conflict: async (request) =>
      isDecided(request)
        ? { kind: 'merged', values: request.mine }
        : ask<Merged | undefined>((answer) => ({ kind: 'conflict', request, answer })),
  };
}
