import type { CanaryPlan } from '#core/contract/deploy/canary-state.ts';
import type { Deployment } from '#core/versions/deployment.ts';
import { percentOf } from './stored-canaries.ts';

/** What a deploy would do, as the receipt of its dry run says it. @param what the working copy, or a candidate. */
export function deployPlan(what: string, changed: boolean, { desired, active_version }: Deployment): string {
  if (active_version === null) return `This deploy would serve ${what} as the first version.`;
  if (changed) return `This deploy would serve ${what} to every caller, in place of version ${active_version}.`;
  return desired === 'running'
    ? `This deploy would change nothing: version ${active_version} is live and is the same.`
    : `This deploy would start version ${active_version} again, which is the same.`;
}

/** The same of a canary. */
export function canaryPlan(
  what: string,
  base_version: number,
  { percent, minutes, max_error_rate, max_p95_ratio, min_calls }: CanaryPlan,
): string {
  const limits = [
    ...(max_error_rate === null ? [] : [`more than ${percentOf(max_error_rate)} of its calls fail`]),
    ...(max_p95_ratio === null ? [] : [`its p95 is more than ${max_p95_ratio} times that of version ${base_version}`]),
  ];
  const unless = limits.length === 0 ? '' : `, unless ${limits.join(' or ')} (from its call ${min_calls} on)`;
  const after = `${minutes} ${minutes === 1 ? 'minute' : 'minutes'}`;
  return `This deploy would serve ${what} to ${percent}% of the callers beside version ${base_version}, and to every caller after ${after}${unless}.`;
}
