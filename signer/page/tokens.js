// Which tokens are well known, for each network. A mint that is not here has no name on this page,
// whatever anybody calls it. The server's list (package market) says the same; a test compares them.

export const TOKENS = {
  "mainnet": [
    {"symbol": "USDC", "mint": "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v", "decimals": 6, "program": "token"},
    {"symbol": "USDT", "mint": "Es9vMFrzaCERmJfrF4H2FYD4KCoNkY11McCe8BenwNYB", "decimals": 6, "program": "token"},
    {"symbol": "PYUSD", "mint": "2b1kV6DkPAnxd5ixfnxCpjxmKwqjjaYmCZfHsFu24GXo", "decimals": 6, "program": "token-2022"},
    {"symbol": "USDG", "mint": "2u1tszSeqZ3qBWF3uNGPFc8TzMk2tdiwknnRMWGWjGWH", "decimals": 6, "program": "token-2022"},
    {"symbol": "EURC", "mint": "HzwqbKZw8HxMN6bF2yFZNrht3c2iXXzpKcFu7uBEDKtr", "decimals": 6, "program": "token"},
    {"symbol": "wSOL", "mint": "So11111111111111111111111111111111111111112", "decimals": 9, "program": "token"},
    {"symbol": "JitoSOL", "mint": "J1toso1uCk3RLmjorhTtrVwY9HJ7X8V9yYac6Y7kGCPn", "decimals": 9, "program": "token"},
    {"symbol": "mSOL", "mint": "mSoLzYCxHdYgdzU16g5QSh3i5K3z3KZK7ytfqcJm7So", "decimals": 9, "program": "token"},
    {"symbol": "bSOL", "mint": "bSo13r4TkiE4KumL71LsHTPpL2euBYLFx6h9HP3piy1", "decimals": 9, "program": "token"},
    {"symbol": "JUP", "mint": "JUPyiwrYJFskUPiHa7hkeR8VUtAeFoSYbKedZNsDvCN", "decimals": 6, "program": "token"},
    {"symbol": "BONK", "mint": "DezXAZ8z7PnrnRJjz3wXBoRgixCa6xjnB7YaB1pPB263", "decimals": 5, "program": "token"},
    {"symbol": "PYTH", "mint": "HZ1JovNiVvGrGNiiYvEozEVgZ58xaU3RKwX8eACQBCt3", "decimals": 6, "program": "token"},
    {"symbol": "RAY", "mint": "4k3Dyjzvzp8eMZWUXbBCjEvwSkkk59S5iCNLY3QrkX6R", "decimals": 6, "program": "token"},
    {"symbol": "ORCA", "mint": "orcaEKTdK7LKz57vaAYr9QeNsVEPfiu6QeMU1kektZE", "decimals": 6, "program": "token"},
    {"symbol": "JTO", "mint": "jtojtomepa8beP8AuQc6eXt5FriJwfFMwQx2v2f9mCL", "decimals": 9, "program": "token"},
    {"symbol": "WIF", "mint": "EKpQGSJtjMFqKZ9KQanSqYXRcF8fBopzLHYxdM65zcjm", "decimals": 6, "program": "token"},
    {"symbol": "HNT", "mint": "hntyVP6YFm1Hg25TN9WGLqM12b8TQmcknKrdu1oxWux", "decimals": 8, "program": "token"}
  ],
  "devnet": [
    {"symbol": "USDC", "mint": "4zMMC9srt5Ri5X14GAgXhaHii3GnPAERYPJgZEJDncDU", "decimals": 6, "program": "token"},
    {"symbol": "EURC", "mint": "HzwqbKZw8HxMN6bF2yFZNrht3c2iXXzpKcFu7uBEDKtr", "decimals": 6, "program": "token"},
    {"symbol": "wSOL", "mint": "So11111111111111111111111111111111111111112", "decimals": 9, "program": "token"}
  ],
  "localnet": [
    {"symbol": "USDC", "mint": "CLpKfvqp1swFzmEVcet1uKo9qv9CggxRdfXfCKpp2Acj", "decimals": 6, "program": "token"},
    {"symbol": "FEE", "mint": "5tjPoMjqnVYE7cRqe9LY2b95qTGezm3whz3nKJGYShkL", "decimals": 6, "program": "token-2022"}
  ]
};

/** The listed token of a mint on a network, or undefined. */
export const listed = (chain, mint) => TOKENS[chain].find((token) => token.mint === mint);
