/** A name that breaks behind its underscores, where it needs more than a line. */
export function Breakable(props: { text: string }) {
  return <>{props.text.split(/(?<=_)(?!_)/).flatMap((part, n) => (n === 0 ? part : [<wbr />, part]))}</>;
}
