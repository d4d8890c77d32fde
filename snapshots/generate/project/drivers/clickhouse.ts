import { clickhouseExtras } from '#core/engines/clickhouse/extras.ts';
import { openClickhouseServer } from '#core/engines/clickhouse/http.ts';
import { list, placeholder } from '#core/engines/clickhouse/parameters.ts';
import { createReader } from '#core/engines/clickhouse/run.ts';
import { withDeadline } from '#core/engines/shared/deadline.ts';
import { AppError } from '#core/errors.ts';
import type { Database, NetworkSettings } from '../definitions.ts';
import { send } from './send.ts';

/** A ClickHouse server over HTTP. All statements are sent with `readonly = 1`. */
export function openClickhouse(settings: NetworkSettings): Database {
  const reader = createReader(openClickhouseServer(settings, send), clickhouseExtras(settings.extra_params));
  return {
    placeholder,
    list,
    async query({ text, values, types }, limits) {
      if (limits.writes) throw new AppError('not_read_only', 'ClickHouse connections are read-only.');
      return withDeadline(limits.timeout_ms, limits.signal, (stop) => reader.read({ text, values, types }, limits, stop));
    },
    close: () => reader.close(),
  };
}
