// Webhooks, and the deliveries of events to them. Each type with the reader that checks it in a response.

import type { Fields } from "./fields.js";

/** The webhook to register for a bot token. */
export interface BotWebhookRequest {
  /** https. */
  url: string;
  /** "message.received", "wallet.*", "*", … */
  events: readonly string[];
  /** 16 to 128 printable ASCII characters. If omitted, purser generates one. */
  secret?: string;
}

/** A webhook to register for platform events. */
export interface WebhookRequest {
  /** https. */
  url: string;
  /** "transaction.confirmed", "price.*", "*", … */
  events: readonly string[];
  /** 16 to 128 printable ASCII characters. If omitted, purser generates one. */
  secret?: string;
  /** Default: true. */
  active?: boolean;
}

/** Changes to a webhook. Omitted fields stay as they are. */
export interface WebhookChange {
  url?: string;
  events?: readonly string[];
  active?: boolean;
}

/** A registered webhook. */
export interface Webhook {
  webhookId: string;
  url: string;
  events: string[];
  active: boolean;
  createdAt: Date | undefined;
  updatedAt: Date | undefined;
  /** undefined: never. */
  lastTriggered: Date | undefined;
  /** undefined: it is not failing. */
  failingSince: Date | undefined;
  /** Why purser turned it off: "gone" (410), "failing", "backlog" (an event waited through 72 hours in which purser ran), or "tier" (until the key has pro again); "" when it did not. */
  ended: string;
  /** A secret that purser generated, shown only once. Otherwise "". */
  secret: string;
}

/** A webhook with the health of its deliveries. */
export interface WebhookStatus extends Webhook {
  health: WebhookHealth;
}

/** The health of a webhook's deliveries. */
export interface WebhookHealth {
  /** undefined: never. */
  lastSuccess: Date | undefined;
  /** Failed attempts in a row. */
  failures: number;
  /** 0: no response, or never tried. */
  lastStatus: number;
  lastError: string;
  /** Waiting deliveries, counted up to 10,000. */
  waiting: number;
  /** Of the last day, oldest first. failed counts attempts, deadLettered counts deliveries that were dead-lettered. */
  hours: { hour: Date | undefined; succeeded: number; failed: number; deadLettered: number }[];
  /** Of the last hour. */
  events: { used: number; limit: number };
}

/** The result of a test delivery. */
export interface WebhookTest {
  deliveryId: string;
  delivered: boolean;
  /** 0: no response. */
  status: number;
  latencyMs: number;
  error: string;
}

/** The new secret of a webhook. */
export interface WebhookSecret {
  webhookId: string;
  /** Shown only once. */
  secret: string;
  /** Until when deliveries are also signed with the previous secret. undefined if that one ended at once. */
  previousUntil: Date | undefined;
}

/** A type of event that webhooks can receive. */
export interface WebhookEvent {
  event: string;
  /** "api" or "bot": the kind of key whose webhooks can receive it. */
  kind: string;
  /** When the event is sent. */
  when: string;
  /** The scope an app needs to receive the event about other people. */
  scope: string;
  public: boolean;
  /** false: nothing emits it yet. */
  emitted: boolean;
  /** JSON Schema of a body. */
  schema: unknown;
  /** An example of a body. */
  example: unknown;
}

/** An event on its way to a webhook. */
export interface Delivery {
  deliveryId: string;
  /** The same in all attempts and resends. */
  eventId: string;
  event: string;
  state: "waiting" | "delivered" | "dead_lettered" | "revoked" | "superseded" | (string & {});
  createdAt: Date | undefined;
  /** The next attempt of a waiting delivery. */
  nextAt: Date | undefined;
  /** undefined while it waits. */
  endedAt: Date | undefined;
  resend: boolean;
  attempts: number;
  lastStatus: number;
  lastError: string;
}

/** A delivery with its body and all attempts. */
export interface WholeDelivery extends Delivery {
  /** Exactly what is signed and sent; "" where bodyShown is false. */
  body: string;
  /** Whether the body may be shown and is still kept. */
  bodyShown: boolean;
  /** Oldest first. answer is the first KiB of the receiver's response. */
  attempted: { at: Date | undefined; latencyMs: number; status: number; error: string; answer: string }[];
}

/** Filters deliveries. An empty filter selects all. */
export interface DeliveryFilter {
  state?: string;
  event?: string;
  since?: Date;
  /** nextCursor of the page before. */
  cursor?: string;
  /** Entries per page, at most 100 (default 20). */
  limit?: number;
}

/** One page of a list, newest first. It can have fewer items than requested, even none, and still have a next page. */
export interface DeliveryPage {
  deliveries: Delivery[];
  /** "" on the last page. */
  nextCursor: string;
}

/** The progress of resending dead-lettered deliveries. */
export interface Recovery {
  /** Deliveries that will be attempted again. */
  recovered: number;
  /** The since of the next call. undefined when everything was looked at. */
  nextSince: Date | undefined;
}

/** Readers of these types from `data` of a response. They throw Malformed. */
export const webhookReaders = {
  webhook: (f: Fields): Webhook & { shown: boolean } => ({ ...webhook(f), shown: f.flag("secret_shown") }),
  plainWebhook: (f: Fields): Webhook => webhook(f),
  webhooks: (f: Fields): Webhook[] => f.records("webhooks").map(webhook),
  webhookStatus: (f: Fields): WebhookStatus => {
    const h = f.record("health");
    const events = h.record("events");
    return {
      ...webhook(f),
      health: {
        lastSuccess: h.time("last_success"), failures: h.count("failures"), lastStatus: h.count("last_status"), lastError: h.text("last_error"), waiting: h.count("waiting"),
        hours: h.records("hours").map((o) => ({ hour: o.time("hour"), succeeded: o.count("succeeded"), failed: o.count("failed"), deadLettered: o.count("dead_lettered") })),
        events: { used: events.count("used"), limit: events.count("limit") },
      },
    };
  },
  webhookTest: (f: Fields): WebhookTest => ({
    deliveryId: f.some("delivery_id"), delivered: f.flag("delivered"), status: f.count("status"), latencyMs: f.count("latency_ms"), error: f.text("error"),
  }),
  webhookSecret: (f: Fields): WebhookSecret & { shown: boolean } => {
    const shown = f.flag("secret_shown");
    return { webhookId: f.some("webhook_id"), secret: shown ? "" : f.some("secret"), previousUntil: f.time("previous_until"), shown };
  },
  webhookEvents: (f: Fields): WebhookEvent[] => f.records("events").map((e) => ({
    event: e.some("event"), kind: e.some("kind"), when: e.text("when"), scope: e.text("scope"), public: e.flag("public"), emitted: e.flag("emitted"), schema: e.any("schema"), example: e.any("example"),
  })),
  delivery: (f: Fields): Delivery => delivery(f),
  wholeDelivery: (f: Fields): WholeDelivery => ({
    ...delivery(f), body: f.text("body"), bodyShown: f.flag("body_shown"),
    attempted: f.records("attempted").map((a) => ({
      at: a.time("at"), latencyMs: a.count("latency_ms"), status: a.count("status"), error: a.text("error"), answer: a.text("answer"),
    })),
  }),
  deliveryPage: (f: Fields): DeliveryPage => ({ deliveries: f.records("deliveries").map(delivery), nextCursor: f.text("next_cursor") }),
  recovery: (f: Fields): Recovery => ({ recovered: f.count("recovered"), nextSince: f.time("next_since") }),
};

function webhook(f: Fields): Webhook {
  return {
    webhookId: f.some("webhook_id"), url: f.some("url"), events: f.texts("events"), active: f.flag("active"), createdAt: f.time("created_at"),
    updatedAt: f.time("updated_at"), lastTriggered: f.time("last_triggered"), failingSince: f.time("failing_since"), ended: f.text("ended"), secret: f.text("secret"),
  };
}

function delivery(f: Fields): Delivery {
  return {
    deliveryId: f.some("delivery_id"), eventId: f.text("event_id"), event: f.text("event"), state: f.some("state"), createdAt: f.time("created_at"),
    nextAt: f.time("next_at"), endedAt: f.time("ended_at"), resend: f.flag("resend"), attempts: f.count("attempts"), lastStatus: f.count("last_status"),
    lastError: f.text("last_error"),
  };
}
