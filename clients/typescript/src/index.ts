/** Talk to a Dragoman daemon. `DragomanClient` is where to begin. */

export * from "./client.js";
export { DragomanError, HistoryDiverged, NoAnswer } from "./errors.js";
export { Files, type Where } from "./files.js";
export { type Connection, type FollowOptions, isTemporary } from "./follow.js";
export { type Call, type ClientOptions, DEFAULT_URL, Http, type RequestOptions } from "./http.js";
export { type Link, Position } from "./position.js";
export type * from "./types.js";
