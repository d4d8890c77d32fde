import { createSignal } from 'solid-js';
import type { Storage } from './storage.ts';

/** Something a person can do here: the one list behind keys, the list of shortcuts and the palette. */
export interface Command {
  readonly id: string;
  readonly title: string;
  readonly group: 'Server' | 'Go to' | 'Interface' | 'Account';
  /** One character as `KeyboardEvent.key` gives it. */
  readonly key?: string;
  readonly enabled?: () => boolean;
  readonly run: () => void;
}

/** The part of a KeyboardEvent that decides. */
export interface KeyPress {
  readonly key: string;
  readonly ctrlKey: boolean;
  readonly metaKey: boolean;
  readonly altKey: boolean;
  readonly repeat: boolean;
  readonly defaultPrevented: boolean;
  readonly target: EventTarget | null;
  preventDefault(): void;
}

export interface Commands {
  readonly all: () => readonly Command[];
  /** Whether single keys run commands (WCAG 2.2, 2.1.4: a person may turn them off). */
  readonly keys: () => boolean;
  setKeys(on: boolean): void;
  /** Adds commands while a part of the page is there; returns what removes them. */
  register(commands: readonly Command[]): () => void;
  run(id: string): void;
  /** True when the key press ran a command. */
  press(event: KeyPress): boolean;
}

export function createCommands(storage: Storage): Commands {
  const [all, setAll] = createSignal<readonly Command[]>([]);
  const [keys, setKeys] = createSignal(storage.read('keys') !== 'off');
  const runIf = (command: Command | undefined): boolean => {
    if (command === undefined || command.enabled?.() === false) return false;
    command.run();
    return true;
  };

  return {
    all,
    keys,
    setKeys(on) {
      setKeys(on);
      storage.write('keys', on ? undefined : 'off');
    },
    register(commands) {
      setAll((list) => [...list.filter((old) => !commands.some((command) => command.id === old.id)), ...commands]);
      return () => setAll((list) => list.filter((command) => !commands.includes(command)));
    },
    run: (id) => void runIf(all().find((command) => command.id === id)),
    press(event) {
      if (event.defaultPrevented || event.repeat || event.ctrlKey || event.metaKey || event.altKey) return false;
      if (!keys() || isTyping(event.target)) return false;
      const ran = runIf(all().find((command) => command.key === event.key));
      if (ran) event.preventDefault();
      return ran;
    },
  };
}

/** Keys belong to the field or dialog that has the focus. */
const isTyping = (target: EventTarget | null): boolean =>
  target !== null &&
  'closest' in target &&
  typeof target.closest === 'function' &&
  target.closest('input, textarea, select, [contenteditable], dialog') !== null;
