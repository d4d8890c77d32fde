import * as v from 'valibot';
import { integerBetween, textBetween } from '../fields.ts';
import { field } from '../marks.ts';
import { secretOrRef } from '../fields.ts';

const Pem = textBetween(1, 65_536);
const pem = v.nullable(Pem);

/** Concurrency limits and timeouts of a connection. */
export const connectionLimits = {
  pool_size: field(integerBetween(1, 100), {
    label: 'Pool size',
    unit: 'sessions',
    help: 'Most sessions that one host opens.',
    open: true,
    default: 4,
  }),
  max_concurrency: field(v.nullable(integerBetween(1, 200)), {
    label: 'Concurrency',
    unit: 'calls',
    help: 'Most calls that run at once. Defaults to the pool size.',
    choices: { null: { label: 'Pool size' } },
    open: true,
    default: null,
  }),
  queue_limit: field(integerBetween(0, 10_000), {
    label: 'Queue limit',
    unit: 'calls',
    help: 'Most calls that wait for a slot. Further calls are rejected.',
    open: true,
    default: 100,
  }),
  queue_timeout_ms: field(integerBetween(1, 600_000), {
    label: 'Queue timeout',
    unit: 'ms',
    help: 'A call that waits longer for a slot is rejected.',
    open: true,
    default: 5_000,
  }),
  query_timeout_ms: field(integerBetween(1, 600_000), {
    label: 'Query timeout',
    unit: 'ms',
    help: 'A statement that runs longer is cancelled in the database.',
    open: true,
    default: 30_000,
  }),
  max_rows: field(integerBetween(1, 1_000_000), {
    label: 'Row limit',
    unit: 'rows',
    help: 'Most rows of one result, unless the tool has its own limit.',
    open: true,
    default: 1_000,
  }),
  max_bytes: field(integerBetween(1_024, 256 * 1024 * 1024), {
    label: 'Size limit',
    unit: 'bytes',
    help: 'Most bytes of one result.',
    open: true,
    default: 4 * 1024 * 1024,
  }),
};

/** TLS certificates. */
export const connectionCertificates = {
  ssl_ca: field(pem, {
    label: 'Certificate authority',
    help: 'PEM. Defaults to the authorities that the system trusts.',
    control: 'code',
    placeholder: '-----BEGIN CERTIFICATE-----',
    open: true,
    address: true,
    default: null,
  }),
  ssl_cert: field(pem, {
    label: 'Client certificate',
    help: 'PEM. Only for databases that require one.',
    control: 'code',
    placeholder: '-----BEGIN CERTIFICATE-----',
    open: true,
    default: null,
  }),
  ssl_key: field(v.nullable(secretOrRef(Pem)), {
    label: 'Client key',
    help: 'PEM.',
    control: 'code',
    placeholder: '-----BEGIN PRIVATE KEY-----',
    secret: true,
    open: true,
    default: null,
  }),
};
