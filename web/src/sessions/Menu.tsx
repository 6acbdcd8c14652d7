import { type KeyboardEvent, useEffect, useRef } from "react";
import { useMay } from "../app/rights";
import "./Menu.css";

export interface MenuItem {
  label: string;
  act: () => void;
  danger?: boolean;
  /** Only for who may write. */
  changes?: boolean;
}

/** A menu beside what was clicked. Escape and a click elsewhere close it. */
export function Menu(props: {
  label: string;
  anchor: HTMLElement;
  items: readonly MenuItem[];
  onClose: () => void;
}) {
  const { anchor, onClose } = props;
  const mayChange = useMay("write");
  const items = props.items.filter((item) => mayChange || !item.changes);
  const element = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const menu = element.current;
    if (menu === null) return;
    menu.showPopover();
    place(menu, anchor);
    menu.querySelector("button")?.focus();
  }, [anchor]);
  const choose = (item: MenuItem) => {
    element.current?.hidePopover();
    // First back to where one was, so that a dialog that opens now can return there.
    anchor.focus();
    item.act();
  };
  return (
    <div
      ref={element}
      className="menu"
      popover="auto"
      role="menu"
      aria-label={props.label}
      tabIndex={-1}
      onKeyDown={walk}
      onToggle={(event) => event.newState === "closed" && onClose()}
    >
      {items.map((item) => (
        <button
          key={item.label}
          type="button"
          role="menuitem"
          className={item.danger ? "menu-item danger" : "menu-item"}
          onClick={() => choose(item)}
        >
          {item.label}
        </button>
      ))}
    </div>
  );
}

/** Below the anchor, its right edge with it; above where there is no room. */
function place(menu: HTMLElement, anchor: HTMLElement): void {
  const beside = anchor.getBoundingClientRect();
  const size = menu.getBoundingClientRect();
  const fits = beside.bottom + size.height + 8 < window.innerHeight;
  menu.style.left = `${Math.max(8, beside.right - size.width)}px`;
  menu.style.top = `${fits ? beside.bottom + 4 : beside.top - size.height - 4}px`;
}

function walk(event: KeyboardEvent<HTMLElement>): void {
  const items = [...event.currentTarget.querySelectorAll("button")];
  const at = items.indexOf(document.activeElement as HTMLButtonElement);
  const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: -1 }[event.key];
  if (to === undefined) return;
  event.preventDefault();
  event.stopPropagation();
  items.at(to % items.length)?.focus();
}
