import { createSignal } from 'solid-js';
import type { OperationName } from '#core/contract/index.ts';
import type { Storage } from './storage.ts';

export const COMMAND_GROUPS = ['This page', 'Server', 'Create', 'Go to', 'Interface', 'Account'] as const;

/** Something a person can do here: the one list behind keys, the list of shortcuts and the palette. */
export interface Command {
  readonly id: string;
  readonly title: string;
  readonly group: (typeof COMMAND_GROUPS)[number];
  /** One character as `KeyboardEvent.key` gives it, or two with a space between that are pressed one after the other. */
  readonly key?: string;
  /** Further words that find it. */
  readonly keywords?: string;
  readonly enabled?: () => boolean;
  /** What it does: not there for people whose role may not. */
  readonly needs?: OperationName;
  readonly run: () => void;
}

/** Something that can be gone to and is found by asking the server. */
export interface Found {
  readonly title: string;
  readonly hint?: string;
  readonly run: () => void;
}

interface Finder {
  readonly group: string;
  readonly find: (query: string, signal: AbortSignal) => Promise<readonly Found[]>;
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
  readonly finders: () => readonly Finder[];
  /** Whether single keys run commands (WCAG 2.2, 2.1.4: a person may turn them off). */
  readonly keys: () => boolean;
  readonly setKeys: (on: boolean) => void;
  /** Adds commands while a part of the page is there; returns what removes them. */
  register(commands: readonly Command[]): () => void;
  /** Adds a group of records to the palette; returns what removes it. */
  provide(group: string, find: Finder['find']): () => void;
  run(id: string): void;
  /** True when the key press ran a command. */
  press(event: KeyPress): boolean;
}

/** The second key of two has to follow within this time. */
const SEQUENCE_MS = 1_500;

/** @param may whether the person may call an operation. */
export function createCommands(storage: Storage, may: (name: OperationName) => boolean = () => true): Commands {
  let first: { readonly key: string; readonly at: number } | undefined;
  const [registered, setAll] = createSignal<readonly Command[]>([]);
  const all = () => registered().filter(({ needs }) => needs === undefined || may(needs));
  const [finders, setFinders] = createSignal<readonly Finder[]>([]);
  const [keys, setKeys] = createSignal(storage.read('keys') !== 'off');
  const runIf = (command: Command | undefined): boolean => {
    if (command === undefined || command.enabled?.() === false) return false;
    command.run();
    return true;
  };

  return {
    all,
    finders,
    keys,
    setKeys(on) {
      setKeys(on);
      storage.write('keys', on ? undefined : 'off');
    },
    register(commands) {
      setAll((list) => [...list.filter((old) => !commands.some((command) => command.id === old.id)), ...commands]);
      return () => setAll((list) => list.filter((command) => !commands.includes(command)));
    },
    provide(group, find) {
      const finder = { group, find };
      setFinders((list) => [...list.filter((old) => old.group !== group), finder]);
      return () => setFinders((list) => list.filter((other) => other !== finder));
    },
    run: (id) => void runIf(all().find((command) => command.id === id)),
    press(event) {
      if (event.defaultPrevented || event.repeat || event.ctrlKey || event.metaKey || event.altKey) return false;
      if (!keys() || isTyping(event.target)) return false;
      const before = first !== undefined && Date.now() - first.at < SEQUENCE_MS ? `${first.key} ` : '';
      first = undefined;
      const possible = all().filter(({ key, enabled }) => key !== undefined && enabled?.() !== false);
      if (before === '' && possible.some(({ key }) => key?.startsWith(`${event.key} `))) {
        first = { key: event.key, at: Date.now() };
        return false;
      }
      // The newest part of the page that wants the key has it.
      const ran = runIf(possible.findLast(({ key }) => key === `${before}${event.key}`));
      if (ran) event.preventDefault();
      return ran;
    },
  };
}

const KEEPS_KEYS =
  'input, textarea, select, [contenteditable], dialog, [role=dialog], [role=alertdialog], [role=menu], [role=listbox]';

/** Keys belong to the field or dialog that has the focus. */
const isTyping = (target: EventTarget | null): boolean =>
  target !== null && 'closest' in target && typeof target.closest === 'function' && target.closest(KEEPS_KEYS) !== null;
