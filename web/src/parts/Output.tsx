import { Cut } from "./Cut";
import { Long } from "./Long";
import "./Output.css";

/** What a tool gave back, as the text it is. */
export function Output(props: { id: string; text: string; bad?: boolean }) {
  return (
    <div className={props.bad ? "output bad" : "output"}>
      <Cut id={props.id} text={props.text} lines={14}>
        {(shown) => (
          <pre>
            <Long text={shown.replace(/\n$/, "")} />
          </pre>
        )}
      </Cut>
    </div>
  );
}
