// Receive webhooks, with nothing but Node.
//
//     node examples/receive_webhooks.mjs PORT SECRET

import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer } from "node:http";

const TOLERANCE_S = 300;

/** Whether a request is the daemon's own, as it was sent, and not an old one again. */
export function verify(secret, headers, body) {
  const id = headers["webhook-id"] ?? "";
  const timestamp = headers["webhook-timestamp"] ?? "";
  const isNow = Math.abs(Date.now() / 1000 - Number(timestamp)) <= TOLERANCE_S;
  if (!/^\d+$/.test(timestamp) || !isNow) return false;
  const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
  const content = Buffer.concat([Buffer.from(`${id}.${timestamp}.`), body]);
  const expected = Buffer.from("v1," + createHmac("sha256", key).update(content).digest("base64"));
  return (headers["webhook-signature"] ?? "").split(" ").some((each) => {
    const given = Buffer.from(each);
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
}

const seen = new Set();

function take(id, event) {
  if (seen.has(id)) return; // it was taken before, and the daemon did not hear of it
  seen.add(id);
  console.log(event.type, event.session_id ?? "", event.sequence ?? "");
}

const [, , port, secret] = process.argv;
const server = createServer(async (request, response) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const body = Buffer.concat(chunks); // as it came: JSON that was decoded and encoded is not it
  if (!verify(secret, request.headers, body)) return response.writeHead(401).end();
  take(request.headers["webhook-id"], JSON.parse(body));
  return response.writeHead(204).end(); // only now: what was not taken must come again
});
server.listen(Number(port), "127.0.0.1", () => {
  console.log(`listening on port ${server.address().port}`);
});
