import { createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto';
import { beginning } from '#core/lib/text/shorten.ts';

/** What a client said that it can, when its session was opened. */
export interface ClientCan {
  /** It can be asked with a form. */
  readonly shows_forms: boolean;
  /** It shows no forms, and leads its person to a page instead. */
  readonly opens_pages: boolean;
  /** It draws results (MCP Apps). */
  readonly draws_views: boolean;
}

/** What an id says of its session. */
export interface SessionFacts extends ClientCan {
  readonly opened_at: number;
  readonly version: string;
  readonly client: string;
}

/** Ids that any host of the installation can check, so that it takes on a session that another one opened. */
export interface SessionIds {
  issue(owner: string, facts: SessionFacts): string;
  /** Null unless one of our keys signed it for this owner. */
  read(id: string, owner: string): SessionFacts | null;
}

/** Bits of what a client can. */
const [FORMS, VIEWS, PAGES] = [1, 2, 4];
const RANDOM_BYTES = 16;
const MAC_BYTES = 32;
const LONGEST_CLIENT = 64;
const LONGEST_ID = 512;

/** @param keys `SVC_ENCRYPTION_KEY`: the first one signs, every one verifies. Without any, ids count on this host alone. */
export function createSessionIds(keys: readonly string[]): SessionIds {
  const ring = keys.length === 0 ? [randomBytes(32)] : keys.map(toKey);
  const mac = (key: Buffer, owner: string, body: string) => createHmac('sha256', key).update(`${owner}\0${body}`).digest();
  return {
    issue(owner, { opened_at, version, client, shows_forms, opens_pages, draws_views }) {
      const can = (shows_forms ? FORMS : 0) + (draws_views ? VIEWS : 0) + (opens_pages ? PAGES : 0);
      const said = [opened_at, version, beginning(client, LONGEST_CLIENT), ...(can === 0 ? [] : [can])];
      const facts = Buffer.from(JSON.stringify(said)).toString('base64url');
      const body = `${randomBytes(RANDOM_BYTES).toString('base64url')}.${facts}`;
      const [key] = ring;
      return key === undefined ? '' : `${body}.${mac(key, owner, body).toString('base64url')}`;
    },
    read(id, owner) {
      if (id.length > LONGEST_ID) return null;
      const [random, facts, signature] = id.split('.');
      if (random === undefined || facts === undefined || signature === undefined) return null;
      const given = Buffer.from(signature, 'base64url');
      const body = `${random}.${facts}`;
      if (given.length !== MAC_BYTES || !ring.some((key) => timingSafeEqual(mac(key, owner, body), given))) return null;
      const read = JSON.parse(Buffer.from(facts, 'base64url').toString()) as [number, string, string, number?];
      const [opened_at, version, client, can = 0] = read;
      const has = (bit: number): boolean => (can & bit) !== 0;
      const abilities = { shows_forms: has(FORMS), opens_pages: has(PAGES), draws_views: has(VIEWS) };
      return { opened_at, version, client, ...abilities };
    },
  };
}

const toKey = (key: string): Buffer => Buffer.from(hkdfSync('sha256', key, 'sluice', 'mcp-sessions/1', 32));
