import { spawn } from 'node:child_process';
import { AppError } from '#core/errors.ts';
import { is_compiled, type PROGRAMS, programCommand } from '#core/process/product.ts';

const FLAGS = ['--no-orphans', '--no-install', '--no-env-file', '--smol'];
/** The `exit` event reports the end of the child instead. */
const ignore = (): void => undefined;

/** Why a child process gave no answer. */
export class ChildEnded extends Error {
  readonly signal: string | null;
  /** True when it had answered before, so it may have been dead already when the question was sent. */
  readonly served: boolean;

  constructor(signal: string | null, served: boolean) {
    super(`ended by ${signal ?? 'itself'}`);
    this.signal = signal;
    this.served = served;
  }
}

export interface ChildOptions<Question> {
  /** Arguments of `ulimit`, which limits the child on Linux. */
  readonly limits?: string;
  /** Sent to make the child stop, and the milliseconds until it is killed. Absent: it is killed at once. */
  readonly stop?: { readonly question: Question; readonly wait_ms: number };
  readonly toError: (ended: ChildEnded) => AppError;
}

export interface Child<Question, Answer> {
  readonly pid: number;
  readonly usable: boolean;
  /**
   * Sends one question at a time. When aborted, rejects with the reason of the signal once the statement has stopped, or once the
   * child has exited and released its locks.
   * @param isProgress handles messages before the answer; false means that the message is the answer.
   */
  ask(question: Question, stop?: AbortSignal, isProgress?: (message: Answer) => boolean): Promise<Answer>;
  kill(): Promise<void>;
}

/** Starts a process that opens one database file. A statement can only be stopped by ending the process that runs it. */
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
  // The first answer only says that the file is open.
  const ended = (): AppError => toError(new ChildEnded(killed_by, answers > 1));
  const exited = new Promise<void>((done) => {
    const end = (_code: unknown, signal: string | null = null) => {
      usable = false;
      killed_by = signal;
      settle((reply) => reply.reject(ended()));
      done();
    };
    child.once('exit', end);
    child.on('error', () => end(null));
  });
  child.on('message', (message: Answer) => {
    if (progress?.(message) === true) return;
    answers++;
    settle((reply) => reply.resolve(message));
  });
  child.unref();

  function settle(how: (reply: PromiseWithResolvers<Answer>) => void): void {
    const reply = pending;
    pending = undefined;
    if (reply) how(reply);
  }

  async function ask(question: Question, stop?: AbortSignal, isProgress?: (message: Answer) => boolean): Promise<Answer> {
    stop?.throwIfAborted();
    if (!usable) throw ended();
    const reply = Promise.withResolvers<Answer>();
    pending = reply;
    progress = isProgress;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let abandoned = false;
    const end = () => {
      pending = undefined;
      void kill().then(() => reply.reject(stop?.reason));
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
      const answer = await reply.promise;
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

/** Runs read-only work again when its idle child turns out to be dead. */
export async function retryLostChild<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    const lost = error instanceof AppError && error.code === 'database_unreachable' && error.cause instanceof ChildEnded;
    if (!lost || !(error.cause as ChildEnded).served) throw error;
    return work();
  }
}
