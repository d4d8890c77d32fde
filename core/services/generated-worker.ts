import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type GenerateJob, generatedFiles } from './generated.ts';

declare const self: Worker;

self.addEventListener('message', ({ data }: MessageEvent<GenerateJob>) => {
  void write(data).then(
    () => self.postMessage(null),
    (error: unknown) => self.postMessage(String(error)),
  );
});

/** All of the project or nothing. */
async function write({ stored, target }: GenerateJob): Promise<void> {
  const draft = `${target}.${process.pid}.draft`;
  try {
    for (const { path, content } of await generatedFiles(stored)) {
      const file = join(draft, path);
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, content);
    }
    await rm(target, { recursive: true, force: true });
    await rename(draft, target);
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    throw error;
  }
}
