// What only the whole page can do. In the part that only signs payments, this module stands in for create.js (signer/bundle): it has neither the list of
// words nor the rules for passphrases.

/** The whole page is needed: start.js opens the same link in it. */
export class NotHere extends Error {}

/** Leaves for the whole page, which restores the wallet and then goes on with the link. Always rejects. */
export const restoreWallet = () => Promise.reject(new NotHere());
