const END = 8;

/** A name on one line, shortened in the middle: names with the same start differ at the end. */
export function MiddleCut(props: { text: string }) {
  return (
    <span class="middle-cut" title={props.text}>
      <span class="visually-hidden">{props.text}</span>
      <span class="truncate" aria-hidden="true">
        {props.text.slice(0, -END)}
      </span>
      <span aria-hidden="true">{props.text.slice(-END)}</span>
    </span>
  );
}

/** A name that wraps after its underscores. */
export function Breakable(props: { text: string }) {
  return <>{props.text.split(/(?<=_)(?!_)/).flatMap((part, n) => (n === 0 ? part : [<wbr />, part]))}</>;
}
