import { test } from 'bun:test';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { atEnd } from './at-end.ts';

/** The shell without a window takes about 40 % less processor time than the whole browser. */
const PLACES = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
const executable = process.env['CHROMIUM_PATH'] ?? PLACES.find((path) => existsSync(path));

/** A machine without a browser skips these tests by name; `CI=true` fails them instead. */
export const browserTest = executable === undefined && process.env['CI'] !== 'true' ? test.skip : test;

// Without the background-networking flags Chromium asks for Google's hosts at every start.
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

export async function openBrowser(): Promise<Browser> {
  if (executable === undefined)
    throw new Error(`No browser: install Debian's chromium-headless-shell or chromium, or set CHROMIUM_PATH.`);
  return chromium.launch({ executablePath: executable, args: FLAGS });
}

let shared: Promise<Browser> | null = null;

/** One for every test file of this process, each of which opens profiles of its own in it; it ends with the process. */
export function sharedBrowser(): Promise<Browser> {
  if (shared !== null) return shared;
  const opening = openBrowser();
  atEnd.push(async () => (await opening).close());
  return (shared = opening);
}

export interface Look {
  readonly width: number;
  readonly scheme: 'light' | 'dark';
}

/**
 * A page of a fresh profile, without animations, that collects in `faults` every console error (a refusal of the content security
 * policy is one), every uncaught fault and every request to another machine.
 */
export async function openPage(browser: Browser, look: Look): Promise<{ page: Page; context: BrowserContext; faults: string[] }> {
  const context = await browser.newContext({
    viewport: { width: look.width, height: 900 },
    colorScheme: look.scheme,
    reducedMotion: 'reduce',
  });
  const page = await context.newPage();
  const faults: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error') faults.push(message.text());
  });
  page.on('pageerror', (error) => faults.push(String(error)));
  page.on('request', (request) => {
    const { protocol, hostname } = new URL(request.url());
    if (protocol.startsWith('http') && hostname !== '127.0.0.1' && hostname !== 'localhost')
      faults.push(`asked ${request.url()}`);
  });
  return { page, context, faults };
}

/** Nothing may be cut off at the side; a picture goes to the folder `SCREENSHOTS` when that is set. */
export async function look(page: Page, name: string): Promise<void> {
  const folder = process.env['SCREENSHOTS'];
  if (folder !== undefined) await page.screenshot({ fullPage: true, path: join(folder, `${name}.png`) });
  const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  if (over > 0) throw new Error(`${name} is ${over} px wider than the window.`);
}
