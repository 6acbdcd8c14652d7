/** The vocabulary, generated from the daemon's OpenAPI document, under the names that people use. */

export type * from "./openapi.js";

import type * as api from "./openapi.js";

/** The kinds of events. */
export type EventType = api.Event["type"];
/** The event of one type. */
export type EventOf<T extends EventType> = Extract<api.Event, { type: T }>;
/** What a session does now. */
export type SessionStatus = api.SessionInfo["status"];
/** A person's answer to a permission. */
export type PermissionReply = api.ReplyPermission["reply"];
/** What becomes of a message while a turn is running. */
export type Delivery = "queue" | "steer" | "reject";
