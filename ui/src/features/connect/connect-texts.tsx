import { createSignal, type JSX, Show } from 'solid-js';
import { clientTexts, type Endpoint } from '#core/client/client-texts.ts';
import { Select } from '#ui/src/components/form/select.tsx';
import { ClientTexts } from './client-texts.tsx';

/** The deployed server, as the texts for clients need it. */
export interface ConnectTarget extends Pick<Endpoint, 'server_name' | 'auth_type' | 'transport'> {
  readonly mcp_url: string;
}

const EVERYTHING = '';

/** The address of a toolset on a host. */
export const toolsetUrl = (mcp_url: string, name: string): string => `${mcp_url.replace(/\/$/, '')}/${name}`;

/** Setup texts for clients, for all tools or for a selected toolset. */
export function ConnectTexts(props: {
  server: ConnectTarget;
  label: string;
  toolsets: readonly { readonly name: string; readonly title: string | null }[];
  /** The option for all tools. */
  everything: string;
  /** Content below the select. */
  hint?: (toolset: string | undefined) => JSX.Element;
  advice: string | undefined;
  /** Absent: the texts contain a placeholder if the server requires a token. */
  token?: string | undefined;
  /** Absent: stdio is not offered. */
  stdio?: Endpoint['stdio'];
  templates?: readonly { readonly id: string; readonly name: string }[] | undefined;
}) {
  const [selected, setSelected] = createSignal(EVERYTHING);
  /** A deleted toolset is no longer selected. */
  const toolset = () => props.toolsets.find(({ name }) => name === selected())?.name;
  const texts = () => {
    const { server, token, stdio } = props;
    const name = toolset();
    const url = name === undefined ? server.mcp_url : toolsetUrl(server.mcp_url, name);
    return clientTexts({ ...server, url, token, toolset: name, ...(stdio && { stdio }) });
  };
  return (
    <>
      <Show when={props.toolsets.length > 0}>
        <Select
          label="Toolset"
          options={[
            { value: EVERYTHING, label: props.everything },
            ...props.toolsets.map(({ name, title }) => ({ value: name, label: `Toolset ${name}`, hint: title ?? undefined })),
          ]}
          value={toolset() ?? EVERYTHING}
          onChange={setSelected}
          hint={props.hint?.(toolset())}
        />
      </Show>
      <Show when={props.advice}>{(text) => <p class="small soft">{text()}</p>}</Show>
      <ClientTexts texts={texts()} label={props.label} templates={props.templates} />
    </>
  );
}
