import { existsSync, mkdirSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as v from 'valibot';
import { until } from './until.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

const Service = v.object({
  image: v.optional(v.string()),
  environment: v.optional(v.record(v.string(), v.string()), {}),
  secrets: v.optional(v.array(v.string()), []),
  volumes: v.optional(v.array(v.string()), []),
  ports: v.optional(v.array(v.string()), []),
  command: v.optional(v.array(v.string())),
  healthcheck: v.optional(v.object({ test: v.array(v.string()) })),
  user: v.optional(v.string()),
  read_only: v.optional(v.boolean()),
  cap_drop: v.optional(v.array(v.string())),
});
const Compose = v.object({
  services: v.record(v.string(), Service),
  secrets: v.record(v.string(), v.object({ file: v.string() })),
});

/** `compose.yaml` as it is committed. */
export const compose = v.parse(Compose, Bun.YAML.parse(read('compose.yaml')));

/** The last CMD of the Dockerfile: what a service without a command of its own runs. */
export const imageCommand = v.parse(v.array(v.string()), JSON.parse(/^CMD (\[.*\])$/m.exec(read('Dockerfile'))?.[1] ?? '[]'));

export interface Service {
  readonly process: Bun.Subprocess;
  readonly directory: string;
  output(): string;
  /** Runs the health check of the file; true when it ends with 0. */
  healthy(): Promise<boolean>;
  stop(signal?: 'SIGTERM' | 'SIGKILL'): Promise<void>;
}

export interface Stage {
  /** What stands for the networks of the containers: texts such as `server:3000`, and the address of this machine. */
  readonly addresses: Readonly<Record<string, string>>;
  /** Folder of the files that the secrets name. */
  readonly secrets: string;
  /** Folder of the volumes that have a name. */
  readonly volumes: string;
  /** Set besides, as a person would in a shell: free ports, chiefly. */
  readonly env: Readonly<Record<string, string>>;
  readonly again?: Service;
}

/** Runs the command of a service with its very environment, as a process of this machine in place of a container. */
export function startService(name: string, stage: Stage): Service {
  const service = compose.services[name];
  if (service === undefined) throw new Error(`compose.yaml has no service ${name}`);
  const local = (text: string) => {
    let result = text.replaceAll(
      /\$\{(\w+):-([^}]*)\}/g,
      (_, variable: string, fallback: string) => stage.env[variable] ?? fallback,
    );
    for (const [from, to] of Object.entries(stage.addresses)) result = result.replaceAll(from, to);
    return result.replaceAll('/run/secrets/', `${stage.secrets}/`).replaceAll('$$', '$');
  };
  const directory = stage.again?.directory ?? mkdtempSync(join(tmpdir(), 'sluice-compose-'));
  for (const volume of service.volumes) mount(volume, directory, stage.volumes);
  const env = {
    PATH: process.env['PATH'] ?? '',
    SVC_DATA_DIR: directory,
    SVC_GENERATED_DIR: join(directory, 'generated'),
    ...Object.fromEntries(Object.entries(service.environment).map(([key, value]) => [key, local(value)])),
    ...stage.env,
  };
  const start = (command: readonly string[]) =>
    Bun.spawn(
      command.map((word) => (word === 'bun' ? process.execPath : local(word))),
      { cwd: ROOT, env, stdout: 'pipe', stderr: 'pipe' },
    );
  const child = start(service.command ?? imageCommand);
  let printed = '';
  for (const stream of [child.stdout, child.stderr]) {
    void (async () => {
      for await (const chunk of stream) printed += Buffer.from(chunk).toString();
    })();
  }
  return {
    process: child,
    directory,
    output: () => printed,
    async healthy() {
      const [kind, ...words] = service.healthcheck?.test ?? [];
      return (await start(kind === 'CMD-SHELL' ? ['sh', '-c', words.join(' ')] : words).exited) === 0;
    },
    async stop(signal = 'SIGTERM') {
      child.kill(signal);
      await child.exited;
    },
  };
}

/** A named volume below `/data` is a folder that services share. */
function mount(volume: string, directory: string, volumes: string): void {
  const [, name, path] = /^([\w-]+):\/data\/(.+)$/.exec(volume) ?? [];
  if (name === undefined || path === undefined || existsSync(join(directory, path))) return;
  mkdirSync(join(volumes, name), { recursive: true });
  symlinkSync(join(volumes, name), join(directory, path));
}

/** Waits for the health check, as `depends_on` does. */
export async function healthy(service: Service, name: string): Promise<void> {
  const said = () => `${name} printed: ${service.output()}`;
  const ended = service.process.exited.then((code) => {
    throw new Error(`It ended with code ${code}. ${said()}`);
  });
  await Promise.race([until(() => service.healthy(), said), ended]);
}

/** The files that the secrets of the compose file name, made as OPERATIONS.md says. */
export function writeSecrets(values: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-secrets-'));
  for (const [name, { file }] of Object.entries(compose.secrets)) {
    if (file !== `./secrets/${name}`) throw new Error(`${name} is not in ./secrets`);
    writeFileSync(join(folder, name), values[name] ?? crypto.randomUUID().replaceAll('-', '').repeat(2), { mode: 0o600 });
  }
  return folder;
}
