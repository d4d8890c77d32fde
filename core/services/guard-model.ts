import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { App } from '#core/app.ts';
import { AppError } from '#core/errors.ts';
import type { GuardModel } from '#core/security/prompt-guard/model.ts';
import type { ModelFile } from '#core/security/prompt-guard/model-download.ts';

const FILES: readonly ModelFile[] = ['model.onnx', 'tokenizer.json', 'config.json'];

/** A file of the model and where it is had: `https://…/model.onnx#sha256=<64 hex digits>`. */
interface Wanted {
  readonly file: ModelFile;
  readonly url: string;
  readonly sha256: string;
}

/**
 * The optional classifier of the prompt guard: opened from its folder when one is there and onnxruntime-node is installed,
 * downloaded before when that is allowed and asked for. Without it, and when anything about it fails, the rules alone judge.
 */
export async function openGuardModel(app: App): Promise<GuardModel | undefined> {
  const dir = app.env.SVC_PROMPT_GUARD_MODEL_DIR;
  try {
    for (const wanted of wantedFiles(app.env.SVC_PROMPT_GUARD_MODEL_URL)) await download(app, dir, wanted);
    if (!existsSync(join(dir, 'model.onnx'))) return undefined;
    const { openModel } = await import('#core/security/prompt-guard/model.ts');
    const model = await openModel(dir);
    if (model === undefined) app.log.warning('guard model not used: onnxruntime-node is not installed');
    else app.log.info('guard model in use');
    return model;
  } catch (error) {
    app.log.warning('guard model not used', { reason: error instanceof AppError ? error.detail : String(error) });
    return undefined;
  }
}

async function download(app: App, dir: string, { file, url, sha256 }: Wanted): Promise<void> {
  if (existsSync(join(dir, file))) return;
  const { downloadModel } = await import('#core/security/prompt-guard/model-download.ts');
  const { guardedFetch } = await import('#core/sources/dial.ts');
  await downloadModel(
    dir,
    file,
    { url, sha256 },
    {
      allowed: app.env.SVC_PROMPT_GUARD_ML_DOWNLOAD,
      fetch: (address, { signal }) => guardedFetch(address, { signal }, app.policy),
    },
  );
  app.log.info('guard model file downloaded', { file });
}

/** A comma list of addresses, each with the digest of its file. */
function wantedFiles(list: readonly string[]): Wanted[] {
  return list.map((entry) => {
    const [url = '', digest = ''] = entry.split('#sha256=');
    const file = FILES.find((known) => url.endsWith(`/${known}`));
    if (file === undefined) throw new AppError('invalid', `SVC_PROMPT_GUARD_MODEL_URL must name ${FILES.join(', ')}.`);
    return { file, url, sha256: digest };
  });
}
