/** Processor milliseconds of this process so far: what synchronous work costs, whatever else the machine does. */
export function processorMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}
