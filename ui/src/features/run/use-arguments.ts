import { createSignal } from 'solid-js';
import type { Parameter } from '#core/contract/definitions/parameters.ts';
import type { Members } from '#core/lib/view/table.ts';
import { focusInvalid } from '#ui/src/components/form/focus-invalid.ts';
import { type Entered, toArguments } from './arguments.ts';

/** Arguments while they are typed into the fields of an `ArgumentForm`. */
export function useArguments(fields: () => readonly Parameter[]) {
  const [texts, setTexts] = createSignal<Entered>({});
  const [errors, setErrors] = createSignal<Readonly<Record<string, string>>>({});
  const begin = (entered: Entered): void => {
    setTexts(entered);
    setErrors({});
  };
  const write = (name: string, value: string | undefined): void => {
    setTexts({ ...texts(), [name]: value });
    const { [name]: _, ...rest } = errors();
    setErrors(rest);
  };
  /** The values to send; undefined: the fields say what is wrong, and the first of those in the form has the focus. */
  const given = (form: HTMLFormElement | undefined): Members | undefined => {
    const filled = toArguments(fields(), texts());
    setErrors(filled.errors);
    if (Object.keys(filled.errors).length === 0) return filled.values;
    void focusInvalid(form);
    return undefined;
  };
  return { texts, begin, write, given, error: (name: string): string | undefined => errors()[name] };
}
