// Follow a session from a web page or from Node: fetch, a reader, and the last sequence.
//
//     node examples/follow.mjs URL TOKEN SESSION
//
// EventSource cannot send an Authorization header, so this does what EventSource does, with fetch.

/** Call `show` with every event after `after`, each once, until the session ends. */
export async function follow(url, token, session, show, after = 0) {
  for (;;) {
    try {
      const response = await fetch(`${url}/v1/sessions/${session}/events/sse`, {
        headers: { Authorization: `Bearer ${token}`, "Last-Event-ID": String(after) },
      });
      if (response.status === 204) return; // ended, and everything was seen
      if (response.status >= 400 && response.status < 500) throw new Refused(await response.text());
      if (!response.ok) throw new Error(`status ${response.status}`);
      for await (const event of events(response.body)) {
        show(event);
        after = event.sequence;
        if (event.type === "session.ended") return;
      }
    } catch (error) {
      if (error instanceof Refused) throw error; // asking again would not help
    }
    await new Promise((resolve) => setTimeout(resolve, 500)); // cut: go on after the last one
  }
}

class Refused extends Error {}

/** The events of a stream: frames end with an empty line; comments and ids are not needed. */
async function* events(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const frames = (rest + value).split("\n\n");
    rest = frames.pop();
    for (const frame of frames) {
      const data = frame.split("\n").find((line) => line.startsWith("data: "));
      if (data) yield JSON.parse(data.slice(6));
    }
  }
}

/** What a chat shows: a plain object that events are folded into. Render it as you like. */
export function newChat() {
  return { items: new Map(), requests: new Map(), queue: [], running: false, ended: false };
}

/** Fold one event into the chat. */
export function apply(chat, { type, data }) {
  switch (type) {
    case "item.started":
    case "item.completed":
      chat.items.set(data.item.item_id, data.item); // a Map keeps the order of the starts
      break;
    case "item.delta":
      grow(chat.items.get(data.item_id), data);
      break;
    case "permission.requested":
    case "question.requested":
      chat.requests.set(data.permission_id ?? data.question_id, data);
      break;
    case "permission.resolved":
    case "question.resolved":
      chat.requests.delete(data.permission_id ?? data.question_id);
      break;
    case "queue.updated":
      chat.queue = data.messages;
      break;
    case "turn.started":
    case "turn.ended":
      chat.running = data.phase === "started";
      break;
    case "session.ended":
      chat.ended = true;
      break;
  } // anything else is for debugging, or newer than this page
}

const GROWS = { text: "text", reasoning: "text", arguments: "arguments", output: "output" };

function grow(item, { delta, content_type }) {
  const field = GROWS[content_type];
  let part = item.content.find((each) => field in each);
  if (!part) item.content.unshift((part = { type: "text", text: "" }));
  part[field] += delta;
}

// From the command line: print what was said.
if (globalThis.process?.argv[1]?.endsWith("follow.mjs")) {
  const [url, token, session] = process.argv.slice(2);
  const chat = newChat();
  await follow(url, token, session, (event) => apply(chat, event));
  for (const item of chat.items.values()) {
    const text = item.content.map((part) => part.text ?? part.output ?? part.arguments ?? "");
    console.log(`${item.role ?? item.kind}: ${text.join("").trim()}`);
  }
}
