import { DragomanError } from "dragoman-client";
import { useEffect, useState } from "react";
import { SessionPage } from "../conversation/SessionPage";
import { Agents } from "../inspect/Agents";
import { Inbox } from "../inspect/Inbox";
import { Requests } from "../inspect/Requests";
import { Home } from "../sessions/Home";
import { NewSession } from "../sessions/NewSession";
import { Sidebar } from "../sessions/Sidebar";
import { useStore } from "../state/store";
import { complain, Notices } from "../ui/notices";
import { sessions } from "./api";
import { Banner } from "./Banner";
import { Help } from "./Help";
import { Login } from "./Login";
import { type Route, route } from "./route";
import { takeTicket } from "./ticket";
import "./app.css";

/** "expelled": was inside, and is let in no more. */
type Entrance = "knocking" | "inside" | "outside" | "expelled";

export function App() {
  const [entrance, setEntrance] = useState<Entrance>("knocking");
  const isOut = entrance === "outside" || entrance === "expelled";
  useEffect(() => {
    if (!isOut) return knock(setEntrance);
  }, [isOut]);
  useEffect(stay, []);
  return (
    <>
      {isOut && <Login wasInside={entrance === "expelled"} onIn={() => setEntrance("knocking")} />}
      {entrance === "inside" && <Inside />}
      <Notices />
    </>
  );
}

/** Come in with what there is, a ticket or a cookie, and stay as long as one may. */
function knock(enter: (entrance: Entrance) => void): () => void {
  const stop = new AbortController();
  let wasInside = false;
  const unwatch = sessions.connection.watch(() => {
    wasInside ||= sessions.connection.get() === "open";
  });
  const come = async () => {
    await takeTicket();
    // Not before: what asks without the cookie is refused.
    enter("inside");
    await sessions.run(stop.signal);
  };
  come().catch((error: unknown) => {
    if (stop.signal.aborted) return;
    const isRefused = error instanceof DragomanError && error.status === 401;
    if (!isRefused) complain(error);
    enter(isRefused && wasInside ? "expelled" : "outside");
  });
  return () => {
    unwatch();
    stop.abort();
  };
}

function Inside() {
  const here = useStore(route);
  return (
    <div className="shell" data-at={here.at}>
      <button type="button" className="skip" onClick={toMain}>
        Skip to the content
      </button>
      <Sidebar />
      <main id="main" tabIndex={-1}>
        <Banner />
        <Place here={here} />
      </main>
      <Help />
    </div>
  );
}

function Place({ here }: { here: Route }) {
  switch (here.at) {
    case "home":
      return <Home />;
    case "new":
      return <NewSession />;
    case "inbox":
      return <Inbox />;
    case "agents":
      return <Agents />;
    case "requests":
      return <Requests />;
    case "session":
      return <SessionPage key={here.id} {...here} />;
  }
}

/** A file that is dropped where nothing takes it would make the browser leave the page. */
function stay(): () => void {
  const refuse = (event: DragEvent) => {
    const { dataTransfer, defaultPrevented } = event;
    if (defaultPrevented || !dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    dataTransfer.dropEffect = "none";
  };
  window.addEventListener("dragover", refuse);
  window.addEventListener("drop", refuse);
  return () => {
    window.removeEventListener("dragover", refuse);
    window.removeEventListener("drop", refuse);
  };
}

function toMain(): void {
  document.getElementById("main")?.focus();
}
