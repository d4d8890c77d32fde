import { parseArgs } from 'node:util';
import { EnvError } from '#core/process/env.ts';
import { AppError, didYouMean } from '#core/errors.ts';
import { reasonOf } from '#core/process/log.ts';
import { PRODUCT_VERSION } from '#core/process/version.ts';
import { plain } from '#core/transfer/files/words.ts';
import { resetPassword, resetTwoFactor } from './account.ts';
import { audit } from './audit.ts';
import { backup } from './backup.ts';
import { bundle } from './bundle.ts';
import { check } from './check.ts';
import { type Arguments, type Command, type Terminal, UsageError } from './command.ts';
import { plan, pull, push } from './files.ts';
import { keys } from './keys.ts';
import { move } from './move.ts';
import { people } from './people.ts';
import { PROGRAM_WORDS } from './programs.ts';
import { vacuum } from './vacuum.ts';
import { verify } from './verify/verify.ts';
import { exportConfiguration, importConfiguration } from './transfer.ts';

/** Commands for the operator on the machine of the server, and commands that need only a token, from any machine. */
export const COMMANDS: Readonly<Record<string, Command>> = {
  check,
  'reset-password': resetPassword,
  'reset-2fa': resetTwoFactor,
  people,
  keys,
  export: exportConfiguration,
  import: importConfiguration,
  backup,
  move,
  vacuum,
  audit,
  pull,
  plan,
  push,
  verify,
  bundle,
};

/** EX_USAGE of sysexits.h; commands use small numbers for their results. */
const USAGE = 64;

/** @returns the exit code: 0 done, 1 failed, 64 the command line is wrong; some commands have others. */
export async function runCli(argv: readonly string[], terminal: Terminal): Promise<number> {
  const [name, ...rest] = argv;
  if (name === undefined || name === 'help' || name === '--help' || name === '-h') {
    terminal.out(help());
    return name === undefined ? USAGE : 0;
  }
  if (name === 'version' || name === '--version' || name === '-v') {
    terminal.out(`${PRODUCT_VERSION}\n`);
    return 0;
  }
  try {
    const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
    const described = command ?? new Map<string, Described>(Object.entries(PROGRAM_WORDS)).get(name);
    if (described === undefined) {
      const known = [...Object.keys(PROGRAM_WORDS), ...Object.keys(COMMANDS)];
      throw new UsageError(`There is no command ${name}.${didYouMean(name, known) || ' sluice help lists them.'}`);
    }
    if (rest.includes('--help') || rest.includes('-h')) {
      terminal.out(helpOf(described));
      return 0;
    }
    if (command === undefined) throw new UsageError(`Usage: sluice ${described.usage}`);
    return await command.run(toArguments(command, rest), terminal);
  } catch (error) {
    terminal.err(`${sentenceOf(error).split('\n').map(plain).join('\n')}\n`);
    return error instanceof UsageError ? USAGE : 1;
  }
}

function toArguments(command: Command, args: readonly string[]): Arguments {
  const { options = {}, words = 0, usage } = command;
  const [least, most] = typeof words === 'number' ? [words, words] : words;
  try {
    const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true });
    if (positionals.length >= least && positionals.length <= most) return { positionals, values: values as Arguments['values'] };
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    // Its first sentence names the option.
    throw new UsageError(`${error.message.split('. ')[0]?.replace(/\.$/, '')}.\nUsage: sluice ${usage}`);
  }
  throw new UsageError(`Usage: sluice ${usage}`);
}

function sentenceOf(error: unknown): string {
  if (error instanceof AppError) {
    const more = error.errors.filter(({ message }) => !error.detail.includes(message));
    return [error.detail, ...more.map(({ field, message }) => `  - ${field}: ${message}`)].join('\n');
  }
  if (error instanceof EnvError || error instanceof UsageError) return error.message;
  return `Failed: ${reasonOf(error)}`;
}

type Described = Pick<Command, 'usage' | 'summary' | 'options'>;

/** The help text of a command: usage, summary and options. */
function helpOf({ usage, summary, options = {} }: Described): string {
  const lines = Object.entries(options).map(([name, { type, short }]) => {
    const value = type === 'string' ? ' …' : '';
    return `  ${short === undefined ? '' : `-${short}, `}--${name}${value}\n`;
  });
  return `${summary}\n\n  sluice ${usage}\n${lines.length === 0 ? '' : `\nOptions:\n${lines.join('')}`}`;
}

const listed = (all: Readonly<Record<string, Described>>): string =>
  Object.values(all)
    .map(({ usage, summary }) => `  ${usage}\n      ${summary}`)
    .join('\n');

function help(): string {
  return `Usage: sluice [command]

Programs (without a command: start)
${listed(PROGRAM_WORDS)}

Commands
${listed(COMMANDS)}

pull, plan and push talk to a running server, from any machine: its address and a token come from --url and --token, or from
SLUICE_URL and SLUICE_TOKEN; instead of a token, SLUICE_CLIENT_ID and SLUICE_CLIENT_SECRET name an OAuth client for agents. verify talks to
an MCP host, as its clients do, at --url or SLUICE_MCP_URL, with --token or SLUICE_MCP_TOKEN. --version prints the version of Sluice. Every other command reads the environment of the server (and its generated secrets in development) and
works on its metadata database, whether or not the server runs. Exit codes: 0 success, 1 failure, 2 plan, verify or audit verify found a difference, 64 usage error.
`;
}
