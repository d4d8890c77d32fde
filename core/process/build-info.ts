import { metric } from '#core/lib/metrics/metrics-text.ts';
import { PRODUCT_VERSION } from './version.ts';

/** The metric with the version of a program. */
export const buildInfo = (program: 'server' | 'host' | 'agent'): string =>
  metric('gauge', 'sluice_build_info', 'The version that runs.', [[{ program, version: PRODUCT_VERSION }, 1]]);
