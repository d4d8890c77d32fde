import type { DialPolicy, RunOptions } from '#core/engines/shared/source.ts';
import type { Limits } from '../definitions.ts';

/** The operator of the project chose its databases, so any address is allowed. */
export const POLICY: DialPolicy = { allow_private_networks: true, forbidden: [], sqlite_dir: '' };

export const optionsOf = ({ writes, ...limits }: Limits): RunOptions => ({ ...limits, mode: writes ? 'write' : 'read' });
