import { spawn } from 'node:child_process';
import { AppError } from '#core/errors.ts';
import { is_compiled, type PROGRAMS, programCommand } from '#core/process/product.ts';

const FLAGS = ['--no-orphans', '--no-install', '--no-env-file', '--smol'];
/** The program ended; its `exit` says so. */
const ignore = (): void => undefined;

/** Why a program that holds a database gave no answer. */
export class ChildEnded extends Error {
  readonly signal: string | null;
  /** It had answered before: it may have been dead already when it was asked. */
  readonly served: boolean;

  constructor(signal: string | null, served: boolean) {
    super(`ended by ${signal ?? 'itself'}`);
    this.signal = signal;
    this.served = served;
  }
}

export interface ChildOptions<Question> {
  /** What `ulimit` sets in it, on Linux. */
  readonly limits?: string;
  /** What asks it to stop by itself, and the milliseconds until it is killed; without it, it is killed at once. */
  readonly stop?: { readonly question: Question; readonly wait_ms: number };
  readonly toError: (ended: ChildEnded) => AppError;
}

export interface Child<Question, Answer> {
  readonly pid: number;
  readonly usable: boolean;
  /**
   * One question at a time. Rejects with the reason of the signal once the statement has stopped, or its program has ended and its
   * locks with it. @param isProgress takes the messages that come before the answer.
   */
  ask(question: Question, stop?: AbortSignal, isProgress?: (message: Answer) => boolean): Promise<Answer>;
  kill(): Promise<void>;
}

/** A program that holds one database file: nothing can stop a statement inside of the process that runs it. */
export function startChild<Question extends object, Answer>(
  name: keyof typeof PROGRAMS,
  { limits, stop: stopping, toError }: ChildOptions<Question>,
): Child<Question, Answer> {
  let pending: PromiseWithResolvers<Answer> | undefined;
  let progress: ((message: Answer) => boolean) | undefined;
  let usable = true;
  let answers = 0;
  let killed_by: string | null = null;
  const command = programCommand(name, FLAGS);
  const [program = '', ...args] =
    limits !== undefined && process.platform === 'linux' ? ['/bin/sh', '-c', `${limits}; exec "$0" "$@"`, ...command] : command;
  const child = spawn(program, args, {
    serialization: 'advanced',
    env: {},
    cwd: is_compiled ? '/' : import.meta.dirname,
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    windowsHide: true,
  });
  // Beyond the first answer, which says that the file is open, it served somebody.
  const ended = (): AppError => toError(new ChildEnded(killed_by, answers > 1));
  const exited = new Promise<void>((done) => {
    const end = (_code: unknown, signal: string | null = null) => {
      usable = false;
      killed_by = signal;
      settle((asked) => asked.reject(ended()));
      done();
    };
    child.once('exit', end);
    child.on('error', () => end(null));
  });
  child.on('message', (message: Answer) => {
    if (progress?.(message) === true) return;
    answers++;
    settle((asked) => asked.resolve(message));
  });
  child.unref();

  function settle(how: (asked: PromiseWithResolvers<Answer>) => void): void {
    const asked = pending;
    pending = undefined;
    if (asked) how(asked);
  }

  async function ask(question: Question, stop?: AbortSignal, isProgress?: (message: Answer) => boolean): Promise<Answer> {
    stop?.throwIfAborted();
    if (!usable) throw ended();
    const asked = Promise.withResolvers<Answer>();
    pending = asked;
    progress = isProgress;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let abandoned = false;
    const end = () => {
      pending = undefined;
      void kill().then(() => asked.reject(stop?.reason));
    };
    const abandon = () => {
      abandoned = true;
      if (stopping === undefined) return end();
      child.send(stopping.question, ignore);
      timer = setTimeout(end, stopping.wait_ms);
    };
    stop?.addEventListener('abort', abandon, { once: true });
    child.ref();
    child.send(question, (error) => {
      if (error instanceof Error) void kill();
    });
    try {
      const answer = await asked.promise;
      if (abandoned) throw stop?.reason;
      return answer;
    } finally {
      clearTimeout(timer);
      child.unref();
      stop?.removeEventListener('abort', abandon);
    }
  }

  async function kill(): Promise<void> {
    usable = false;
    child.kill('SIGKILL');
    await exited;
  }

  return {
    pid: child.pid ?? 0,
    get usable() {
      return usable;
    },
    ask,
    kill,
  };
}

/** Work that changes nothing, once more when the program that was idle is found to be dead. */
export async function retryLostChild<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    const lost = error instanceof AppError && error.code === 'database_unreachable' && error.cause instanceof ChildEnded;
    if (!lost || !(error.cause as ChildEnded).served) throw error;
    return work();
  }
}
