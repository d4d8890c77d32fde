import {
  AppBridge,
  type McpUiHostCapabilities,
  type McpUiHostContext,
  PostMessageTransport,
} from '@modelcontextprotocol/ext-apps/app-bridge';
import type { CallToolResult } from '@modelcontextprotocol/client';

/** The page of a client, in a browser: the official half of the client shows a view through a sandbox of another origin. */

export interface Shown {
  readonly sandbox: string;
  readonly html: string;
  readonly capabilities: McpUiHostCapabilities;
  readonly context: McpUiHostContext;
  /** What `tools/call` of the view is answered with. */
  readonly again: CallToolResult;
}

export interface Client {
  show(shown: Shown): Promise<void>;
  input(given: Record<string, unknown>): Promise<void>;
  /** Answers with the milliseconds until the view has something that the selector finds. */
  result(result: CallToolResult): Promise<void>;
  cancel(reason: string): Promise<void>;
  context(context: McpUiHostContext): Promise<void>;
  teardown(): Promise<Record<string, unknown>>;
  readonly sizes: { readonly height?: number | undefined }[];
  readonly calls: unknown[];
  readonly files: unknown[];
  /** Addresses that the view asked to open. */
  readonly links: string[];
}

declare global {
  interface Window {
    client: Client;
  }
}

let bridge: AppBridge | undefined;
const shownBridge = (): AppBridge => {
  if (bridge === undefined) throw new Error('Nothing is shown.');
  return bridge;
};

window.client = {
  sizes: [],
  calls: [],
  files: [],
  links: [],
  show({ sandbox, html, capabilities, context, again }) {
    const frame = document.createElement('iframe');
    frame.title = 'Sandbox';
    const made = new AppBridge(null, { name: 'client-of-the-tests', version: '1' }, capabilities, { hostContext: context });
    bridge = made;
    made.addEventListener('sandboxready', () => void made.sendSandboxResourceReady({ html }));
    made.addEventListener('sizechange', (size) => {
      window.client.sizes.push(size);
      if (size.height !== undefined) frame.style.height = `${size.height}px`;
    });
    made.oncalltool = async (params) => {
      window.client.calls.push(params);
      return again;
    };
    made.ondownloadfile = async (params) => {
      window.client.files.push(params);
      return {};
    };
    made.onopenlink = async ({ url }) => {
      window.client.links.push(url);
      return {};
    };
    const initialized = new Promise<void>((resolve) => made.addEventListener('initialized', () => resolve()));
    document.body.replaceChildren(frame);
    const target = frame.contentWindow;
    if (target === null) throw new Error('The frame has no window.');
    const connected = made.connect(new PostMessageTransport(target, target));
    frame.src = sandbox;
    return connected.then(() => initialized);
  },
  input: (given) => shownBridge().sendToolInput({ arguments: given }),
  result: (result) => shownBridge().sendToolResult(result),
  cancel: (reason) => shownBridge().sendToolCancelled({ reason }),
  context: async (context) => shownBridge().setHostContext(context),
  teardown: () => shownBridge().teardownResource({}),
};
