import { createHash, createHmac } from 'node:crypto';

export interface AwsCredentials {
  readonly access_key_id: string;
  readonly secret_access_key: string;
}

export interface AwsRequest {
  readonly method: string;
  readonly url: string;
  readonly body?: string;
  readonly region: string;
  readonly service: string;
  readonly now: Date;
}

/**
 * Headers that sign a request with AWS Signature Version 4: host, date, and the hash of the body. The path is signed unchanged,
 * so it must need no encoding.
 */
export function signAws(
  { method, url, body = '', region, service, now }: AwsRequest,
  credentials: AwsCredentials,
): Record<string, string> {
  const { host, pathname, searchParams } = new URL(url);
  const time = `${now.toISOString().slice(0, 19).replaceAll(/[-:]/g, '')}Z`;
  const date = time.slice(0, 8);
  const query = [...searchParams]
    .map(([name, value]) => [encode(name), encode(value)] as const)
    .toSorted(([a, x], [b, y]) => (a === b ? compare(x, y) : compare(a, b)))
    .map(([name, value]) => `${name}=${value}`)
    .join('&');
  const request = [method, pathname, query, `host:${host}`, `x-amz-date:${time}`, '', SIGNED, sha256(body)].join('\n');
  const scope = `${date}/${region}/${service}/aws4_request`;
  const text = ['AWS4-HMAC-SHA256', time, scope, sha256(request)].join('\n');
  const key = [date, region, service, 'aws4_request'].reduce<string | Buffer>(
    (previous, part) => hmac(previous, part),
    `AWS4${credentials.secret_access_key}`,
  );
  const signature = hmac(key, text).toString('hex');
  return {
    'x-amz-date': time,
    authorization: `AWS4-HMAC-SHA256 Credential=${credentials.access_key_id}/${scope}, SignedHeaders=${SIGNED}, Signature=${signature}`,
  };
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
const SIGNED = 'host;x-amz-date';
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest();

/** RFC 3986: also encodes what JavaScript leaves unencoded. */
const encode = (text: string): string =>
  encodeURIComponent(text).replaceAll(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);
