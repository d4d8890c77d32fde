import type { View } from '#core/contract/definitions/view.ts';
import { isMembers, type Members } from '#core/lib/view/table.ts';
import { createBridge, UI } from './bridge.ts';
import { drawResult, type Drawn } from './draw.ts';
import { button, el } from './elements.ts';
import { drawForm } from './form.ts';
import './view.css';
import './page.css';

/** The page that clients with MCP Apps show beside a call. */

const root = document.documentElement;
const busy = el('p', { class: 'sv-soft', role: 'status' }, 'Waiting for the result…');
const said = el('p', { class: 'sv-soft sv-said', role: 'status' });
const result_place = el('div', {}, busy);
const form_place = el('div');
document.body.append(el('main', { class: 'sv' }, form_place, result_place, said));

let can: Members = {};
let context: Members = {};
let args: Members = {};
let latest: Members | null = null;
let drawn: Drawn | null = null;

const say = (text: string): void => {
  said.textContent = text;
};
const place = (element: HTMLElement): void => result_place.replaceChildren(element);
const saySomething = (text: string): void => place(el('p', { class: 'sv-soft', role: 'status' }, text));

/** Most client frames block the clipboard API; copying a selection works everywhere. */
function copy(text: string): void {
  const from = document.activeElement;
  const area = el('textarea', { class: 'sv-hidden', 'aria-hidden': 'true' });
  area.value = text;
  document.body.append(area);
  area.select();
  // oxlint-disable-next-line typescript/no-deprecated
  const copied = document.execCommand('copy');
  area.remove();
  if (from instanceof HTMLElement) from.focus();
  say(copied ? 'Copied.' : 'This client does not allow copying. Select the text and copy it by hand.');
}

async function save(csv: string): Promise<void> {
  const resource = { uri: 'file:///result.csv', mimeType: 'text/csv', text: csv };
  try {
    const { isError } = await bridge.request('ui/download-file', { contents: [{ type: 'resource', resource }] });
    say(isError === true ? 'The file was not saved.' : 'Saved.');
  } catch {
    copy(csv);
  }
}

/** The view definition of a tool: clients that declare nothing get it only in the tool list. */
function viewIn(of: unknown): unknown {
  const meta = isMembers(of) ? of['_meta'] : undefined;
  return isMembers(meta) ? meta['sluice/view'] : undefined;
}

function draw(): void {
  if (latest === null) return;
  const meta = viewIn(latest) ?? viewIn(isMembers(context['toolInfo']) ? context['toolInfo']['tool'] : undefined);
  const text = (name: string) => (typeof context[name] === 'string' ? context[name] : undefined);
  drawn = drawResult(latest, {
    view: isMembers(meta) ? (meta as View) : null,
    locale: text('locale'),
    time_zone: text('timeZone'),
    copy,
    save: 'downloadFile' in can ? (csv) => void save(csv) : undefined,
  });
  place(drawn.element);
  drawn.resize(result_place.clientWidth);
  result_place.append(...nextButton(latest), ...fileButton(latest));
}

/** Only read-only tools may be called from here, because a button in the page is not a consent. */
function runnable(): { readonly name: string; readonly schema: Members } | null {
  const info = isMembers(context['toolInfo']) ? context['toolInfo']['tool'] : undefined;
  const { name, inputSchema: schema, annotations } = isMembers(info) ? info : {};
  const reads = isMembers(annotations) && annotations['readOnlyHint'] === true;
  return reads && 'serverTools' in can && typeof name === 'string' && isMembers(schema) ? { name, schema } : null;
}

function drawArguments(): void {
  const tool = runnable();
  const form = tool && drawForm(tool.schema, args, (values) => void runAgain(tool.name, values));
  form_place.replaceChildren(...(form === null ? [] : [form]));
}

/** A tool with paged rows returns the position of the next page. */
function nextButton({ structuredContent: found }: Members): HTMLElement[] {
  const tool = runnable();
  const next = isMembers(found) ? found['next'] : undefined;
  const properties = tool?.schema['properties'];
  if (tool === null || typeof next !== 'string' || !isMembers(properties) || !('after' in properties)) return [];
  return [button('Next rows', () => void runAgain(tool.name, { ...args, after: next }))];
}

/** A tool that offers its whole result says where it is. The client asks the person before it opens an address. */
function fileButton({ structuredContent: found }: Members): HTMLElement[] {
  const file = isMembers(found) ? found['file'] : undefined;
  const url = isMembers(file) ? file['url'] : undefined;
  if (typeof url !== 'string' || !/^https?:\/\//.test(url) || !('openLinks' in can)) return [];
  return [button('Download all rows', () => void openLink(url))];
}

async function openLink(url: string): Promise<void> {
  const refused = 'This client did not open the address. It is in the text of the answer.';
  try {
    const { isError } = await bridge.request('ui/open-link', { url });
    say(isError === true ? refused : '');
  } catch {
    say(refused);
  }
}

async function runAgain(name: string, values: Members): Promise<void> {
  args = values;
  place(busy);
  say('');
  try {
    latest = await bridge.request('tools/call', { name, arguments: values });
    draw();
  } catch (error) {
    place(el('p', { class: 'sv-error', role: 'alert' }, error instanceof Error ? error.message : String(error)));
  }
}

/** Applies the client's theme, CSS variables and safe areas; everything has a default. */
function dress(): void {
  const { theme, styles, safeAreaInsets: insets } = context;
  if (theme === 'light' || theme === 'dark') root.dataset['theme'] = theme;
  const variables = isMembers(styles) && isMembers(styles['variables']) ? styles['variables'] : {};
  for (const [name, value] of Object.entries(variables)) {
    if (name.startsWith('--') && typeof value === 'string') root.style.setProperty(name, value);
  }
  if (!isMembers(insets)) return;
  for (const side of ['top', 'right', 'bottom', 'left']) {
    const inset = insets[side];
    if (typeof inset === 'number') document.body.style.setProperty(`padding-${side}`, `${inset}px`);
  }
}

const handlers: Readonly<Record<string, (params: Members) => void>> = {
  'tool-input': ({ arguments: given }) => {
    args = isMembers(given) ? given : {};
    drawArguments();
  },
  'tool-result'(params) {
    latest = params;
    say('');
    draw();
  },
  'tool-cancelled': () => saySomething('The call was cancelled.'),
  'host-context-changed'(params) {
    const before = context;
    context = { ...context, ...params };
    dress();
    if (context['locale'] !== before['locale'] || context['timeZone'] !== before['timeZone']) draw();
    if (params['toolInfo'] === undefined) return;
    drawArguments();
    draw();
  },
};

const sizes = new ResizeObserver(() => {
  const { width, height } = root.getBoundingClientRect();
  bridge.notify(`${UI}size-changed`, { width: Math.ceil(width), height: Math.ceil(height) });
});
let drawn_width = 0;
const widths = new ResizeObserver(() => {
  if (result_place.clientWidth === drawn_width) return;
  drawn_width = result_place.clientWidth;
  drawn?.resize(drawn_width);
});
const bridge = createBridge(
  (name, params) => handlers[name]?.(params),
  () => {
    sizes.disconnect();
    widths.disconnect();
  },
);
void bridge.open().then((opened) => {
  can = opened.capabilities;
  context = { ...opened.context, ...context };
  dress();
  drawArguments();
  draw();
  sizes.observe(root);
  widths.observe(result_place);
});
