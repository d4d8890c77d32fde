import '#core/engines/sqlite/child.ts';

/** The program that opens one SQLite file, on Deno, which has no option to end a child process with its parent. */
interface Library {
  dlopen(name: string, symbols: object): { readonly symbols: { readonly prctl: (option: number, value: number) => number } };
}
const { Deno } = globalThis as typeof globalThis & { readonly Deno: Library };

if (process.platform === 'linux') {
  const [PR_SET_PDEATHSIG, SIGKILL] = [1, 9];
  const { symbols } = Deno.dlopen('libc.so.6', { prctl: { parameters: ['i32', 'u64'], result: 'i32' } });
  symbols.prctl(PR_SET_PDEATHSIG, SIGKILL);
}
