import { href } from "../app/route";
import { Icon } from "./Icon";
import "./Back.css";

/** The way back to the list on a phone, where only one of the two is seen. */
export function Back() {
  return (
    <a className="back button quiet small" href={href({ at: "home" })} aria-label="Sessions">
      <Icon name="back" />
    </a>
  );
}
