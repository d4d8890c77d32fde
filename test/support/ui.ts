import { afterAll, beforeAll, expect } from 'bun:test';
import type { Browser, BrowserContext, Locator, Page, Request } from 'playwright-core';
import { expectAccessible } from './axe.ts';
import { look, openPage, sharedBrowser } from './browser.ts';
import { is_full_layer } from './layer.ts';
import { startProduct } from './products.ts';
import { type Product, type ProductOptions, type Programs, removeFolder, startPrograms } from './programs.ts';
import { until } from './until.ts';

/** The administrator of `Programs.signIn`. */
export const ACCOUNT = { username: 'ada', password: 'correct horse' } as const;
/** A whole walk on a machine that does other things as well. */
export const LIMIT_MS = 180_000;

const READY_MS = 60_000;
/** Longer than any page waits between two looks at the server. */
export const POLL_MS = 15_500;
const QUIET_MS = 100;
/** What a poll brings is shown after so long; if not, the next poll may bring it. */
const SHOWN_MS = 250;

export interface Opened {
  readonly page: Page;
  readonly context: BrowserContext;
  readonly faults: string[];
}

export interface Look {
  readonly width: number;
  readonly scheme: 'light' | 'dark';
}

/** Every page for administrators, and every part of those that poll. */
export const PATHS = [
  '/',
  '/connections',
  '/connections/new',
  '/tools',
  '/resources',
  '/prompts',
  '/deploy',
  '/deploy?view=versions',
  '/deploy?view=code',
  '/history',
  '/transfer',
  '/access',
  '/agents',
  '/settings',
  '/metrics',
  '/insights',
  '/logs',
  '/queue',
  '/flow',
  '/playground',
  '/account',
];

/** What a page has to be fit for. */
const FIRST_LOOKS: readonly Look[] = [
  { width: 360, scheme: 'light' },
  { width: 1280, scheme: 'dark' },
];

export interface Ui<P extends Product = Product> {
  /** From the first test on. */
  readonly programs: P;
  readonly browser: Browser;
  /** A page of a fresh profile in which the administrator is signed in. */
  signedIn(this: void, width?: number, scheme?: 'light' | 'dark'): Promise<Opened>;
}

interface UiOptions<P extends Product> extends ProductOptions {
  /** Waits until a host serves what the demo has deployed. */
  readonly live?: boolean;
  /** False: nothing is started, since the tests of the file are skipped. */
  readonly needed?: boolean;
  /** What has to be there before the first test. */
  readonly prepare?: (programs: P) => Promise<void>;
  readonly cleanup?: () => Promise<void>;
}

/** A fresh installation with its administrator for the tests of one file, and the browser that every file of this process shares. */
export const startUi = (options: UiOptions<Product> = {}): Ui => uiOf(startProduct, (product) => product.stop(), options);

/** The same with programs that are processes of their own, for tests that kill them or start them again. */
export const startUiPrograms = (options: UiOptions<Programs> = {}): Ui<Programs> =>
  uiOf(
    startPrograms,
    async (programs) => {
      await programs.stop();
      removeFolder(programs);
    },
    options,
  );

function uiOf<P extends Product>(
  start: (options: ProductOptions) => Promise<P>,
  end: (programs: P) => Promise<void>,
  { live = false, needed = true, prepare, cleanup, ...options }: UiOptions<P>,
): Ui<P> {
  let programs: P | undefined;
  let browser: Browser | undefined;
  beforeAll(async () => {
    if (!needed) return;
    // A browser takes as long to start as the programs.
    [programs, browser] = await Promise.all([start(options), sharedBrowser()]);
    await programs.signIn();
    if (live) await serves(programs);
    else if (options.env?.['SVC_DEMO'] !== 'false') await hasDemo(programs);
    await prepare?.(programs);
  }, 2 * READY_MS);
  afterAll(async () => {
    // A test that failed has left its profile open.
    for (const context of browser?.contexts() ?? []) await context.close();
    if (programs !== undefined) await end(programs);
    await cleanup?.();
  }, READY_MS);

  const there = <T>(part: T | undefined): T => {
    if (part === undefined) throw new Error('The programs did not start.');
    return part;
  };
  return {
    get programs() {
      return there(programs);
    },
    get browser() {
      return there(browser);
    },
    async signedIn(width = 1280, scheme = 'light') {
      const opened = await openPage(there(browser), { width, scheme });
      await opened.context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: there(programs).url });
      const answer = await opened.context.request.post(`${there(programs).url}/api/v1/auth/login`, { data: ACCOUNT });
      expect(answer.status()).toBe(200);
      return opened;
    },
  };
}

/** The demo is imported and deployed once the server answers. Where a folder has other definitions, it never is. */
const hasDemo = (programs: Product): Promise<unknown> =>
  until(
    async () => (await programs.api<{ snapshot_version: number | null }>('GET', '/deploy/status')).snapshot_version !== null,
  ).catch(() => undefined);

const serves = (programs: Product): Promise<unknown> =>
  until(
    async () => {
      const { hosts } = await programs.api<{ hosts: { snapshot_version: number | null }[] }>('GET', '/deploy/status');
      return hosts.some(({ snapshot_version }) => snapshot_version !== null);
    },
    () => programs.output(),
  );

/** Nothing went wrong. A refused call that a test asked for stands in the console too. */
export async function close({ context, faults }: Opened, asked: readonly number[] = []): Promise<void> {
  const unexpected = faults.filter((fault) => !asked.some((status) => fault.includes(`a status of ${status}`)));
  expect(unexpected).toEqual([]);
  await context.close();
}

/** A page of the entry that is open, in the row of its tabs. */
export const pageTab = (page: Page, name: string | RegExp) => page.locator('.section-tabs').getByRole('link', { name });
/** The same when it is the page that is shown. */
export const openTab = (page: Page, name: string | RegExp) => pageTab(page, name).and(page.locator('[aria-current=page]'));

export const toast = (page: Page, text: string | RegExp) => page.getByRole('status').getByText(text).first();

/** Time passes for a page, whose clock is installed, until a poll of it has brought what is looked for. */
export async function untilPolled(page: Page, shown: Locator): Promise<void> {
  for (let turn = 0; turn < 40 && !(await shown.isVisible()); turn++) {
    await page.clock.fastForward(POLL_MS);
    await shown.waitFor({ timeout: SHOWN_MS }).catch(() => undefined);
  }
  await shown.waitFor();
}

/** What waits until a page, which has asked for nothing yet, has all that it asked for and reads nothing more. */
export function quietOf(page: Page): () => Promise<unknown> {
  const open = new Set<Request>();
  let changed_at = performance.now();
  const changes = (request: Request, is_open: boolean) => {
    if (is_open) open.add(request);
    else open.delete(request);
    changed_at = performance.now();
  };
  page.on('request', (request) => changes(request, true));
  page.on('requestfinished', (request) => changes(request, false));
  page.on('requestfailed', (request) => changes(request, false));
  page.on('response', (response) => {
    // A stream has no end.
    if (response.headers()['content-type']?.startsWith('text/event-stream')) changes(response.request(), false);
  });
  const isQuiet = async () =>
    open.size === 0 && performance.now() - changed_at > QUIET_MS && (await page.locator('[aria-busy=true]').count()) === 0;
  return () => {
    changed_at = performance.now();
    return until(isQuiet, () => [...open].map((request) => request.url()).join(', '));
  };
}

/** The page as it is now: nothing is cut off at the side, axe finds nothing serious. */
export async function inspect(page: Page, name: string, { width, scheme }: Look): Promise<void> {
  await look(page, `${name}-${width}-${scheme}`);
  await expectAccessible(page, `${name} at ${width} px, ${scheme}`);
}

export interface Place {
  readonly name: string;
  readonly path: string;
  /** A text or a selector that is there when the page shows what it has. */
  readonly ready: string | { readonly css: string };
}

export interface Walk {
  /** Inspects the page as it is now, in both themes. */
  readonly check: (name: string) => Promise<void>;
  readonly width: number;
}

/** In the page: what follows from another size of the window is drawn. */
export const drawn = (): Promise<void> =>
  new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => resolve())));

/** Colours move to those of another theme, however short the time. */
async function settled(): Promise<void> {
  const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
  const moves = (animation: Animation) => animation instanceof CSSTransition && animation.playState === 'running';
  await frame();
  do await frame();
  while (document.getAnimations().some(moves));
}

/**
 * Walks through a page and inspects it wherever the walk stops, so that every stop is seen at each width and in each theme. The daily
 * layer walks once and widens the page at every stop, in the other theme; the themes change places from stop to stop. The full layer
 * opens the page at each width and inspects it in both themes there.
 */
export async function inEveryLook(
  open: (width: number, scheme: Look['scheme']) => Promise<Opened>,
  walk: (page: Page, walk: Walk) => Promise<void>,
  { looks = FIRST_LOOKS, asked = [] as readonly number[] } = {},
): Promise<void> {
  for (const first of is_full_layer ? looks : looks.slice(0, 1)) {
    const opened = await open(first.width, first.scheme);
    const { page } = opened;
    let stops = 0;
    const check = async (name: string) => {
      const turned = stops++ % 2 === 1;
      for (const { width, scheme } of is_full_layer ? bothThemes(first) : looks)
        await inspectAs(page, name, { width, scheme: turned ? other(scheme) : scheme });
      await showAs(page, first);
    };
    await walk(page, { check, width: first.width });
    await close(opened, asked);
  }
}

const other = (scheme: Look['scheme']): Look['scheme'] => (scheme === 'light' ? 'dark' : 'light');
const bothThemes = ({ width, scheme }: Look): readonly Look[] => [
  { width, scheme },
  { width, scheme: other(scheme) },
];

async function showAs(page: Page, { width, scheme }: Look): Promise<void> {
  const size = page.viewportSize();
  if (size !== null && size.width !== width) await page.setViewportSize({ ...size, width });
  await page.emulateMedia({ colorScheme: scheme });
}

export async function inspectAs(page: Page, name: string, look: Look): Promise<void> {
  await showAs(page, look);
  await page.evaluate(settled);
  await inspect(page, name, look);
}

/** Walks pages in every look. */
export const inspectAll = (ui: Ui, places: readonly Place[]): Promise<void> =>
  inEveryLook(ui.signedIn, async (page, { check }) => {
    for (const { name, path, ready } of places) {
      await page.goto(`${ui.programs.url}${path}`);
      const there = typeof ready === 'string' ? page.getByRole('main').getByText(ready) : page.locator(ready.css);
      await there.first().waitFor();
      await check(name);
    }
  });
