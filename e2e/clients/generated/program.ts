// A program with the types that openapi-typescript makes of openapi.json. generated_test.go generates them, and
// type-checks and runs this.
import createClient from "openapi-fetch";
import type { components, paths } from "./schema.js";

const [baseUrl, key, from, to] = process.argv.slice(2) as [string, string, string, string];
const purser = createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${key}` } });

const me = await purser.GET("/v1/key");
if (me.data === undefined) throw new Error(JSON.stringify(me.error));
const tier: "free" | "pro" = me.data.data.tier;
console.log("tier", tier);

const payment: components["schemas"]["SendRequest"] = { from, to, amount: 1e-7, token: "SOL" }; // a number, as JavaScript prints it
payment.amount = "0.002";
const sent = await purser.POST("/v1/wallet/send", { body: payment });
if (sent.data === undefined) throw new Error(JSON.stringify(sent.error));
const read = await purser.GET("/v1/wallet/transactions/{id}", { params: { path: { id: sent.data.data.transaction_id } } });
if (read.data === undefined) throw new Error(JSON.stringify(read.error));
console.log("sent", read.data.data.amount, read.data.data.status);

const refused = await purser.POST("/v1/wallet/send", { body: { ...payment, amount: 1000 } });
const code: string | undefined = refused.error?.error.code;
if (code !== "INSUFFICIENT_FUNDS") throw new Error(JSON.stringify(refused));
console.log("refused", code);
