/** Machines of their own on this one: a program in a network space has addresses that no other program uses. */
export interface NetworkSpace {
  /** Of the space, and of this machine as the space sees it. */
  readonly address: string;
  readonly outside: string;
  /** A command in the space. */
  command(program: readonly string[]): string[];
  remove(): void;
}

const ip = (...args: string[]): boolean => Bun.spawnSync(['ip', ...args], { stderr: 'ignore' }).exitCode === 0;

/** @param number from 1 to 200, of a space that no other test has. @returns null where this user may not make one. */
export function networkSpace(number: number): NetworkSpace | null {
  const name = `sluice-${process.pid}-${number}`;
  const link = `sl${number}x${process.pid % 100_000}`;
  const [address, outside] = [`10.233.${number}.2`, `10.233.${number}.1`];
  const remove = () => {
    ip('netns', 'del', name);
    ip('link', 'del', link);
  };
  if (Bun.which('ip') === null || !ip('netns', 'add', name)) return null;
  const made =
    ip('link', 'add', link, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', name) &&
    ip('addr', 'add', `${outside}/30`, 'dev', link) &&
    ip('link', 'set', link, 'up') &&
    ip('-n', name, 'addr', 'add', `${address}/30`, 'dev', 'eth0') &&
    ip('-n', name, 'link', 'set', 'eth0', 'up') &&
    ip('-n', name, 'link', 'set', 'lo', 'up');
  if (made) return { address, outside, command: (program) => ['ip', 'netns', 'exec', name, ...program], remove };
  remove();
  return null;
}
