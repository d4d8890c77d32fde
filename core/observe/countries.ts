import { mkdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import ipaddr from 'ipaddr.js';
import type { Env } from '#core/process/env.ts';
import { AppError } from '#core/errors.ts';
import type { Log } from '#core/process/log.ts';
import { packageFile } from '#core/process/product.ts';
import type { DialPolicy } from '#core/engines/shared/source.ts';

/** The country of an address, from a database that opens at the first lookup. */
export interface Countries {
  /** ISO 3166-1 alpha-2 of a public address; null when unknown. Never throws. */
  of(address: string | null): Promise<string | null>;
  close(): Promise<void>;
}

export interface CountriesOptions {
  readonly env: Pick<Env, 'SVC_GEOIP_SOURCE' | 'SVC_MAXMIND_LICENSE_KEY' | 'SVC_DATA_DIR'>;
  readonly log: Log;
  readonly policy: DialPolicy;
  readonly clock: () => Date;
  /** URL of MaxMind's download service. Tests set another one. */
  readonly maxmind_url?: string;
}

/** A record of the installed database, or of one in MaxMind's format. */
interface GeoRecord {
  readonly country_code?: string;
  readonly country?: string | { readonly iso_code?: string };
}
type LookUp = (address: string) => GeoRecord | null;

/** Whois data of the address registries: CC BY 4.0, NRO. */
const INSTALLED = packageFile('@ip-location-db/geo-whois-asn-country-mmdb/geo-whois-asn-country.mmdb');
const DAY_MS = 24 * 3_600_000;
/** MaxMind publishes twice a week and requires that old data is deleted within 30 days. */
const REFRESH_MS = 7 * DAY_MS;
const RETRY_MS = 3_600_000;
const DOWNLOAD_MS = 120_000;

export function createCountries({ env, log, policy, clock, maxmind_url }: CountriesOptions): Countries {
  const { SVC_GEOIP_SOURCE: source, SVC_MAXMIND_LICENSE_KEY: license_key } = env;
  const custom_file = join(env.SVC_DATA_DIR, 'geoip', 'GeoLite2-Country.mmdb');
  const ends = new AbortController();
  let opening: Promise<LookUp | null> | null = null;
  let downloading: Promise<void> | null = null;
  let next_download = 0;

  const open = async (): Promise<LookUp | null> => {
    if (source !== 'generic' && source !== 'maxmind')
      return (await openFile(source)) ?? untold('SVC_GEOIP_SOURCE names a file that is not a readable .mmdb database.');
    const file = source === 'maxmind' ? await openFile(custom_file) : null;
    return file ?? (await openFile(INSTALLED)) ?? untold('The installed country data cannot be read. Install Sluice again.');
  };
  const untold = (reason: string): null => {
    log.warning('countries are not looked up', { reason });
    return null;
  };

  const download = async (key: string): Promise<void> => {
    try {
      const [{ downloadCountries }, { guardedFetch }] = await Promise.all([
        import('./country-download.ts'),
        import('#core/engines/shared/dial.ts'),
      ]);
      const signal = AbortSignal.any([ends.signal, AbortSignal.timeout(DOWNLOAD_MS)]);
      const file = await downloadCountries(key, (url, stop) => guardedFetch(url, { signal: stop }, policy), signal, maxmind_url);
      const look = await toLook(file);
      await mkdir(join(env.SVC_DATA_DIR, 'geoip'), { recursive: true, mode: 0o700 });
      await writeFile(`${custom_file}.part`, file, { mode: 0o600 });
      await rename(`${custom_file}.part`, custom_file);
      opening = Promise.resolve(look);
      log.info('country database downloaded', { bytes: file.length });
    } catch (error) {
      if (ends.signal.aborted) return;
      const reason = error instanceof AppError ? error.detail : 'MaxMind did not send a country database.';
      log.warning('country database not downloaded; existing data is used', { reason });
    }
  };
  /** Does not delay any call. */
  const refresh = async (): Promise<void> => {
    const now = clock().getTime();
    if (source !== 'maxmind' || license_key === null || now < next_download || downloading !== null) return;
    next_download = now + RETRY_MS;
    const modified = await stat(custom_file).then(
      ({ mtimeMs }) => mtimeMs,
      () => 0,
    );
    if (now - modified < REFRESH_MS || ends.signal.aborted) return;
    downloading = download(license_key).finally(() => {
      downloading = null;
    });
  };

  return {
    async of(address) {
      if (address === null || !ipaddr.isValid(address)) return null;
      const parsed = ipaddr.process(address);
      if (parsed.range() !== 'unicast') return null;
      const look = await (opening ??= open());
      void refresh();
      try {
        return codeOf(look?.(parsed.toString()) ?? null);
      } catch {
        return null;
      }
    },
    async close() {
      ends.abort();
      await downloading;
    },
  };
}

function codeOf(record: GeoRecord | null): string | null {
  const country = record?.country;
  const code = record?.country_code ?? (typeof country === 'string' ? country : country?.iso_code);
  return code !== undefined && /^[A-Z]{2}$/.test(code) ? code : null;
}

async function openFile(path: string): Promise<LookUp | null> {
  try {
    return await toLook(await readFile(path));
  } catch {
    return null;
  }
}

/** @throws when the file is not a database. */
async function toLook(file: Buffer): Promise<LookUp> {
  const { Reader } = await import('maxmind');
  const reader = new Reader(file);
  return (address) => reader.get(address) as GeoRecord | null;
}

export interface WithCountries {
  readonly countries: Countries;
}
