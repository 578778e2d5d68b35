// The types that go over the wire, and their readers, by subject.

import { alertReaders } from "./records/alerts.js";
import { keyReaders } from "./records/keys.js";
import { peopleReaders } from "./records/people.js";
import { priceReaders } from "./records/prices.js";
import { stakeReaders } from "./records/stakes.js";
import { swapReaders } from "./records/swaps.js";
import { transactionReaders } from "./records/transactions.js";
import { walletReaders } from "./records/wallets.js";
import { webhookReaders } from "./records/webhooks.js";

export { Fields, Malformed } from "./records/fields.js";
export type * from "./records/alerts.js";
export type * from "./records/keys.js";
export type * from "./records/people.js";
export type * from "./records/prices.js";
export type * from "./records/stakes.js";
export type * from "./records/swaps.js";
export type * from "./records/transactions.js";
export type * from "./records/wallets.js";
export type * from "./records/webhooks.js";

/** Readers of `data` of a response, one for each type. They throw Malformed. */
export const read = { ...keyReaders, ...walletReaders, ...transactionReaders, ...stakeReaders, ...swapReaders, ...priceReaders, ...alertReaders, ...peopleReaders, ...webhookReaders };
