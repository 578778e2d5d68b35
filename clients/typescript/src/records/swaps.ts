import type { Fields } from "./fields.js";

/** Asks for a quote. Tokens are symbols or mints. */
export interface SwapRequest {
  address: string;
  fromToken: string;
  toToken: string;
  /** Of fromToken, in its own unit. */
  amount: string;
  /** How much less may arrive than quoted, in hundredths of a percent. Without it: 50. */
  slippageBps?: number;
}

/** One side of a swap. */
export interface SwapToken {
  /** "" for a token that purser does not list. */
  symbol: string;
  /** "" for SOL. */
  mint: string;
  decimals: number;
}

/** A swap quote. It is good for one swap until expiresAt. Amounts are in the tokens' own units. */
export interface SwapQuote {
  quoteId: string;
  address: string;
  fromToken: SwapToken;
  toToken: SwapToken;
  /** Paid, exactly. */
  inAmount: string;
  /** Expected. */
  outAmount: string;
  /** Arrives at least, or nothing is swapped. */
  minOutAmount: string;
  slippageBps: number;
  /** Percent, as the source says. */
  priceImpact: string;
  /** Percent by which it is worse than the market's prices; "" if a price is unknown. */
  belowMarket: string;
  /** Of the network, in SOL. */
  fee: string;
  /** Deposit for a new token account, in SOL. */
  rent: string;
  source: string;
  route: string[];
  warnings: string[];
  expiresAt: Date | undefined;
}

/** A token that a search found. symbol and name are what its issuer wrote. */
export interface FoundToken {
  /** "" for SOL. */
  mint: string;
  symbol: string;
  name: string;
  decimals: number;
  /** In purser's own list. */
  listed: boolean;
  /** As the source says. */
  verified: boolean;
  /** The source warns of it, or it takes the symbol of a listed token. */
  suspect: boolean;
  /** 0 if it is not known. */
  holders: number;
  /** "" if it is not known. */
  liquidityUsd: string;
  /** "" for purser's own list. */
  source: string;
  updatedAt: Date | undefined;
}

/** The tokens that a query may mean, the most likely first. If not complete, only purser's own list was searched. */
export interface FoundTokens {
  tokens: FoundToken[];
  complete: boolean;
}

/** A place where a token is traded. What is not known is "". */
export interface Pool {
  address: string;
  dex: string;
  /** What it is traded against: the symbol of a listed token, otherwise its mint. */
  quoteToken: string;
  priceUsd: string;
  liquidityUsd: string;
  volume24hUsd: string;
  createdAt: Date | undefined;
  /** Of the source's page about it. */
  url: string;
}

/** The pools of a token, the deepest first, at most 20. source is "" if the service asks nobody about pools. */
export interface Pools {
  /** The symbol of a listed token, otherwise its mint. */
  token: string;
  /** "" for SOL. */
  mint: string;
  source: string;
  updatedAt: Date | undefined;
  pools: Pool[];
}

const side = (f: Fields): SwapToken => ({ symbol: f.text("symbol"), mint: f.text("mint"), decimals: f.count("decimals") });

/** Readers of these types from `data` of a response. They throw Malformed. */
export const swapReaders = {
  swapQuote: (f: Fields): SwapQuote => ({
    quoteId: f.some("quote_id"), address: f.some("address"), fromToken: side(f.record("from_token")), toToken: side(f.record("to_token")),
    inAmount: f.some("in_amount"), outAmount: f.some("out_amount"), minOutAmount: f.some("min_out_amount"), slippageBps: f.count("slippage_bps"),
    priceImpact: f.text("price_impact"), belowMarket: f.text("below_market"), fee: f.some("fee"), rent: f.some("rent"), source: f.text("source"),
    route: f.texts("route"), warnings: f.texts("warnings"), expiresAt: f.time("expires_at"),
  }),
  foundTokens: (f: Fields): FoundTokens => ({
    tokens: f.records("tokens").map((t) => ({
      mint: t.text("mint"), symbol: t.some("symbol"), name: t.text("name"), decimals: t.count("decimals"), listed: t.flag("listed"), verified: t.flag("verified"),
      suspect: t.flag("suspect"), holders: t.count("holders"), liquidityUsd: t.text("liquidity_usd"), source: t.text("source"), updatedAt: t.time("updated_at"),
    })),
    complete: f.flag("complete"),
  }),
  pools: (f: Fields): Pools => ({
    token: f.some("token"), mint: f.text("mint"), source: f.text("source"), updatedAt: f.time("updated_at"),
    pools: f.records("pools").map((p) => ({
      address: p.some("address"), dex: p.text("dex"), quoteToken: p.text("quote_token"), priceUsd: p.text("price_usd"), liquidityUsd: p.text("liquidity_usd"),
      volume24hUsd: p.text("volume_24h_usd"), createdAt: p.time("created_at"), url: p.text("url"),
    })),
  }),
};
