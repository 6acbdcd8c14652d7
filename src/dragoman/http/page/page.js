// Swaps the ticket in this page's address for a cookie, and takes it out of the history.
"use strict";

const told = document.getElementById("told");
const leave = document.getElementById("leave");
const query = new URLSearchParams(location.search);
const ticket = query.get("ticket");

if (ticket !== null) {
  history.replaceState(null, "", location.pathname);
}

function say(text, inside) {
  told.textContent = text;
  leave.hidden = !inside;
}

async function post(path, body) {
  const sent = { method: "POST", credentials: "same-origin", headers: {} };
  if (body !== undefined) {
    sent.headers["Content-Type"] = "application/json";
    sent.body = JSON.stringify(body);
  }
  const answer = await fetch(`../v1/${path}`, sent);
  if (!answer.ok) {
    const problem = await answer.json();
    throw new Error(problem.detail ?? problem.title);
  }
}

async function enter() {
  if (ticket !== null) {
    await post("login", { ticket });
  }
  const answer = await fetch("../v1/agents", { credentials: "same-origin" });
  if (answer.ok) {
    say("You are signed in. The inspector is not built yet; the API and the command line are.", true);
  } else {
    say("Run `dragoman ui` in a terminal: it opens this page with a ticket.", false);
  }
}

leave.addEventListener("click", () => {
  post("logout").then(
    () => say("You are signed out.", false),
    (error) => say(error.message, true),
  );
});

enter().catch((error) => say(error.message, false));
