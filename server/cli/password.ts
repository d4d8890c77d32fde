import { AppError } from '#core/errors.ts';
import type { Terminal } from './command.ts';

/** The new password: prompted for twice without echo on a terminal, otherwise the first line of the standard input. */
export async function readPassword(terminal: Terminal): Promise<string> {
  if (terminal.stdin.isTTY !== true) return firstLine(terminal.stdin);
  const password = await askHidden(terminal, 'New password: ');
  const again = await askHidden(terminal, 'Once more: ');
  if (password !== again) throw new AppError('invalid', 'The two passwords differ. Nothing was changed.');
  return password;
}

export async function firstLine(stream: NodeJS.ReadableStream): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks).toString('utf8').split(/\r?\n/)[0] ?? '';
}

const END = new Set(['\r', '\n', '\u0004']);
const INTERRUPT = '\u0003';
const BACKSPACE = new Set(['\b', '\u007f']);

function askHidden({ stdin, err }: Terminal, question: string): Promise<string> {
  err(question);
  stdin.setRawMode?.(true);
  stdin.setEncoding('utf8');
  stdin.resume();
  return new Promise((done, fail) => {
    let typed: string[] = [];
    const end = () => {
      stdin.off('data', take);
      stdin.setRawMode?.(false);
      stdin.pause();
      err('\n');
    };
    const take = (text: string | Buffer): void => {
      for (const character of text.toString()) {
        if (character === INTERRUPT) {
          end();
          fail(new AppError('cancelled', 'Nothing was changed.'));
          return;
        }
        if (END.has(character)) {
          end();
          done(typed.join(''));
          return;
        }
        typed = BACKSPACE.has(character) ? typed.slice(0, -1) : [...typed, character];
      }
    };
    stdin.on('data', take);
  });
}
