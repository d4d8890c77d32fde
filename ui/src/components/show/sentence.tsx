import { children, type JSX } from 'solid-js';
import { Breakable } from './breakable.tsx';

/** What turns the direction of the text behind it. */
const CONTROLS = /[\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
const RIGHT = '[\\u0590-\\u08ff\\ufb1d-\\ufdff\\ufe70-\\ufefc]';
/** A part from right to left: between its letters, whatever is no Latin letter. */
const PART = new RegExp(`(${RIGHT}(?:[^A-Za-z]*${RIGHT})?)`);

/** A sentence of ours with texts of people in it, none of which moves the words around it. Anything but a text is shown as it is. */
export function Sentence(props: { children: JSX.Element }) {
  const shown = children(() => props.children);
  const parts = () => {
    const text = shown();
    if (typeof text !== 'string') return text;
    const [first, ...rest] = text.replaceAll(CONTROLS, '').split(PART);
    if (rest.length === 0) return <Breakable text={first ?? ''} />;
    return [first, ...rest.map((part, n) => (n % 2 === 0 ? <bdi>{part}</bdi> : part))];
  };
  return <>{parts()}</>;
}
