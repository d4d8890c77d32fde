const END = 8;

/** A name in one line, whose middle is left out where it has no room: names that begin alike are told apart by their ends. */
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

/** A name that breaks behind its underscores, where it needs more than a line. */
export function Breakable(props: { text: string }) {
  return <>{props.text.split(/(?<=_)(?!_)/).flatMap((part, n) => (n === 0 ? part : [<wbr />, part]))}</>;
}
