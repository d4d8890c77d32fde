type Attributes = Readonly<Record<string, string | number | boolean | undefined>>;
type Child = Node | string | undefined;

const SVG = 'http://www.w3.org/2000/svg';

function fill<E extends Element>(element: E, attributes: Attributes, children: readonly Child[]): E {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue;
    element.setAttribute(name, value === true ? '' : String(value));
  }
  // Texts become text nodes: nothing of a result is ever read as markup.
  element.append(...children.filter((child) => child !== undefined));
  return element;
}

export const el = <K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] => fill(document.createElement(tag), attributes, children);

export const svg = <K extends keyof SVGElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): SVGElementTagNameMap[K] => fill(document.createElementNS(SVG, tag), attributes, children);

export function button(label: string, act: () => void, attributes: Attributes = {}): HTMLButtonElement {
  const made = el('button', { type: 'button', class: 'sv-button', ...attributes }, label);
  made.addEventListener('click', act);
  return made;
}
