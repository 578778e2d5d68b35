// What a decoded transaction pays, stakes, swaps or takes back, and how that is shown. It takes amounts and addresses from the decoded
// bytes alone. What the server says beside them is marked as such.

import { associatedAccount } from './associated.js';
import { rich, t } from './catalogue.js';
import { Refusal, TOKEN_2022 } from './decode.js';
import { foreign, h, notice } from './dom.js';
import { address as shown } from './parts.js';
import { SOL } from './policy.js';
import { WRAPPED_SOL } from './swap.js';
import { amount, sol } from './text.js';
import { TOKENS, listed } from './tokens.js';

// What creating a token account costs at most, in lamports: 6960 for each byte and for 128 besides. One
// of the older program has 165 bytes, one of Token-2022 up to 264, with every extension that its mint can
// ask of it (chain/tokenlayout.go counts them).
const DEPOSIT = { units: 2_039_280n, text: 'sign.deposit_cost' };
const DEPOSIT_2022 = { units: 2_728_320n, text: 'sign.deposit_cost_2022' };

/**
 * What a decoded transaction pays, as it is shown: {amount, symbol ("" for a token that is not known
 * here), mint, to (the owner, or ""), account, deposit (of a token account that it makes, or null), lamports
 * (that leave at most, the fee apart), reference, paid (what, how much and to which account, as one text to
 * compare by), spends (what spending limits count, see spending)}. The recipient of tokens is shown where the bytes, or the
 * account's own derivation from what the server claims, prove it. Throws a Refusal.
 */
export async function payment(decoded, offer) {
  const pay = await paying(decoded, offer);
  return { ...pay, spends: spending(decoded, pay) };
}

/**
 * What counts for spending limits: {mint ("SOL" or base58), units (decimal text), to (the recipient; "" where the bytes prove no owner; null for a
 * swap), account (of the recipient), buys (the mint that a swap brings, or null)}, or null for staking and revocations. Of a token with a transfer fee, units are
 * what leaves the wallet. Network fee and deposit are bounded, and not counted.
 */
function spending({ actions }, { to, account = '' }) {
  const swap = actions.find((a) => a.type === 'swap');
  if (swap) return { mint: swap.mint === WRAPPED_SOL ? SOL : swap.mint, units: swap.units, to: null, account: '' };
  const sent = actions.find((a) => a.type === 'transfer');
  if (sent) return { mint: SOL, units: sent.lamports, to: sent.to, account: sent.to };
  const moved = actions.find((a) => a.type === 'token_transfer');
  return moved ? { mint: moved.mint, units: moved.units, to, account } : null;
}

async function paying(decoded, { chain, recipient }) {
  const step = staking(decoded) ?? swapping(decoded, chain) ?? await revoking(decoded, chain);
  if (step) return step;
  const sent = decoded.actions.find((a) => a.type === 'transfer');
  if (sent) return { amount: sol(sent.lamports), symbol: 'SOL', to: sent.to, lamports: BigInt(sent.lamports), reference: sent.reference, paid: `SOL ${sent.lamports} ${sent.to}` };
  const { units, decimals, mint, program, account, reference, to } = decoded.actions.find((a) => a.type === 'token_transfer');
  const token = listed(chain, mint);
  if (token && token.decimals !== decimals) {
    throw new Refusal('wrong_decimals', 'wrong_decimals', { symbol: token.symbol, decimals, listed: token.decimals });
  }
  const proven = to || (recipient && (await associatedAccount(recipient, mint, program)) === account ? recipient : '');
  const creates = decoded.actions.some((a) => a.type === 'create_account');
  const deposit = !creates ? null : program === TOKEN_2022 ? DEPOSIT_2022 : DEPOSIT;
  return {
    amount: amount(units, decimals), symbol: token ? token.symbol : '', mint, to: proven, account, reference, deposit, paid: `${mint} ${units} ${account}`,
    lamports: deposit ? deposit.units : 0n,
  };
}

/**
 * A step of staking as it is shown, or null for a payment: what payment returns, and kind (stake, unstake or withdraw),
 * account (the stake account), merged (how many others are merged into it) and whole (all of the account is
 * undelegated: the bytes do not say how much that is).
 */
function staking({ actions, fee_payer: own }) {
  const created = actions.find((a) => a.type === 'create_stake');
  const initialized = actions.some((a) => a.type === 'initialize_stake');
  const delegated = actions.find((a) => a.type === 'delegate');
  const split = actions.find((a) => a.type === 'split_stake');
  const stopped = actions.find((a) => a.type === 'deactivate');
  const taken = actions.find((a) => a.type === 'withdraw_stake');
  const merged = actions.filter((a) => a.type === 'merge_stake').length;
  const about = delegated ?? stopped ?? taken;
  if (!about) return null;
  const { reference } = about;
  const lamports = BigInt(created?.lamports ?? 0);
  if (delegated && initialized) {
    return { kind: 'stake', amount: sol(created.lamports), symbol: 'SOL', to: delegated.to, account: delegated.account, lamports, reference, merged, paid: `stake ${created.lamports} ${delegated.to}` };
  }
  if (taken) {
    return { kind: 'withdraw', amount: sol(taken.lamports), symbol: 'SOL', to: own, account: taken.account, lamports: 0n, reference, merged, paid: `withdraw ${taken.lamports} ${taken.account}` };
  }
  const account = split ? split.source : stopped.account;
  return {
    kind: 'unstake', whole: !split, amount: split ? sol(split.lamports) : '', symbol: 'SOL', to: account, account, lamports, reference, merged,
    paid: `unstake ${split ? split.lamports : 'all'} ${account}`,
  };
}

/**
 * A swap as it is shown, or null for anything else: what payment returns of what is paid, and kind (swap), least and expected (what is
 * received, as {amount, symbol, mint}) and slippage (in percent). A token that is not known here is counted in base units: the bytes do
 * not say how many decimals it has.
 */
function swapping({ actions, fee_payer: own }, chain) {
  const swap = actions.find((a) => a.type === 'swap');
  if (!swap) return null;
  const reference = actions.find((a) => a.type === 'reference')?.reference ?? '';
  const wraps = actions.some((a) => a.type === 'wrap') && actions.some((a) => a.type === 'sync_native');
  const wrapped = wraps || actions.some((a) => a.type === 'unwrap');
  const sum = (mint, units) => {
    if (mint === WRAPPED_SOL) return { amount: sol(units), symbol: 'SOL', mint: '' };
    const token = listed(chain, mint);
    return token ? { amount: amount(units, token.decimals), symbol: token.symbol, mint } : { amount: units, symbol: '', mint };
  };
  const deposit = swap.out_mint === WRAPPED_SOL ? null : { units: DEPOSIT.units, text: 'sign.deposit_own' };
  return {
    ...sum(swap.mint, swap.units), kind: 'swap', least: sum(swap.out_mint, swap.minimum), expected: sum(swap.out_mint, swap.quoted),
    slippage: amount(BigInt(swap.slippage_bps), 2), wrapped, to: own, account: swap.account, reference, deposit,
    lamports: (wraps ? BigInt(swap.units) : 0n) + (deposit?.units ?? 0n), paid: `swap ${swap.mint} ${swap.units} ${swap.out_mint}`,
  };
}

/**
 * A revocation as it is shown, or null for anything else: kind (revoke), account (the token account), symbol and decimals (of the listed
 * token whose account of this wallet it is, "" for any other account: the bytes do not say which token that holds). To do the same
 * twice costs nothing but the fee, so `paid` makes no two revocations alike.
 */
async function revoking({ actions, fee_payer: own }, chain) {
  const revoked = actions.find((a) => a.type === 'revoke');
  if (!revoked) return null;
  const { account, program, reference } = revoked;
  let [symbol, decimals] = ['', 0];
  for (const token of TOKENS[chain]) {
    if ((token.program === 'token-2022') === (program === TOKEN_2022) && (await associatedAccount(own, token.mint, program)) === account) ({ symbol, decimals } = token);
  }
  return { kind: 'revoke', symbol, decimals, to: account, account, lamports: 0n, reference, paid: `revoke ${account} ${reference}` };
}

/** The texts of the steps of staking, by kind: title, what is done, and what the address is. */
const STEPS = {
  stake: ['sign.stake_title', 'sign.stake', 'sign.validator'],
  unstake: ['sign.unstake_title', 'sign.unstake', 'sign.stake_account'],
  withdraw: ['sign.withdraw_title', 'sign.withdraw', 'sign.to_own'],
};

/** The title of the screen that asks about a payment, a step of staking, a swap or a revocation. */
export const heading = (pay) => ({ undefined: 'sign.title', swap: 'sign.swap_title', revoke: 'sign.revoke_title' })[pay.kind] ?? STEPS[pay.kind][0];

/** What the screen asks to compare. */
export const comparing = (pay) => ({ undefined: 'sign.compare', swap: 'sign.compare_swap', revoke: 'sign.compare_revoke' })[pay.kind] ?? 'sign.compare_stake';

/** Who asked for it, in the server's words: an app, or a program with an API key. */
const requester = (offer) => [
  offer.app && h('p', null, rich('sign.app', { name: foreign(offer.app, 64) })),
  offer.keyHint && h('p', null, rich('sign.api_key', { hint: foreign(offer.keyHint, 8) })),
];

/** What a step of staking does, and with which stake. Both authorities were checked to be this wallet's (decode.js). */
const stakeSummary = (pay, offer) => [
  h('p', { class: 'label' }, t(STEPS[pay.kind][1])),
  pay.whole ? h('p', { class: 'amount' }, t('sign.whole_stake')) : amountLine(pay),
  h('p', { class: 'label' }, t(STEPS[pay.kind][2])),
  target(pay),
  (offer.validator || offer.app || offer.keyHint) && h('div', { class: 'claimed' },
    h('p', { class: 'label' }, t('sign.server_says')),
    offer.validator && h('p', null, rich('sign.validator_name', { name: foreign(offer.validator, 64) })),
    requester(offer)),
].flat();

/** A sum of one side of a swap, large, with the mint of a token that is not known here. */
const swapSide = (label, side) => [
  h('p', { class: 'label' }, t(label)),
  side.symbol ? amountLine(side) : h('p', { class: 'amount' }, rich('sign.base_units', { amount: h('span', { class: 'number' }, side.amount) })),
  !side.symbol && [h('p', { class: 'label' }, t('sign.mint')), h('p', null, shown(side.mint))],
];

/** What a swap takes and what it brings at least: the two amounts that the program enforces. */
const swapSides = (pay) => [swapSide('sign.you_pay', pay), swapSide('sign.you_get', pay.least)].flat(2);

const swapSummary = (pay, offer) => [
  swapSides(pay),
  (!pay.symbol || !pay.least.symbol) && notice('warn', t('sign.unknown_token')),
  (offer.app || offer.keyHint) && h('div', { class: 'claimed' }, h('p', { class: 'label' }, t('sign.server_says')), requester(offer)),
].flat(2);

/**
 * Who can spend, and how much, until the approval is revoked, in the server's words. The amount of a token that the bytes prove has that token's
 * decimals.
 */
function approval({ symbol, decimals }, { delegate }) {
  if (!delegate) return null;
  const { address, limit } = delegate;
  const says = limit === null ? t('sign.revoke_any')
    : symbol ? t('sign.revoke_up_to', { limit: t('sign.amount', { amount: amount(limit, decimals), symbol }) })
      : t('sign.revoke_up_to_these', { amount: amount(limit, delegate.decimals) });
  return [h('p', null, says), h('p', null, shown(address))];
}

/** Whose approval is revoked: the bytes name one token account, and nobody who may spend from it. */
const revokeSummary = (pay, offer) => [
  h('p', { class: 'label' }, t('sign.revoke')),
  pay.symbol && h('p', { class: 'amount', translate: 'no' }, pay.symbol),
  h('p', { class: 'label' }, t('sign.revoke_account')),
  target(pay),
  (offer.delegate || offer.app || offer.keyHint) && h('div', { class: 'claimed' }, h('p', { class: 'label' }, t('sign.server_says')), approval(pay, offer), requester(offer)),
].flat();

/** What else a step of staking, a swap or a revocation means, as pairs for rows. */
export const moreTerms = (pay) => (pay.kind === 'swap' ? swapTerms(pay) : pay.kind === 'revoke' ? [[t('sign.revoke_effect'), t('sign.revoke_effect_own')]] : stakeTerms(pay));

const swapTerms = (pay) => [
  [t('sign.expected'), pay.expected.symbol ? t('sign.amount', pay.expected) : t('sign.base_units', pay.expected)],
  [t('sign.slippage'), t('sign.slippage_most', { percent: pay.slippage })],
  pay.wrapped && [t('sign.wrapping'), t('sign.wrapping_own')],
  [t('sign.route'), t('sign.route_bound')],
];

/** What a step of staking means, as pairs for rows. */
const stakeTerms = (pay) => [
  pay.kind === 'stake' && [t('sign.authorities'), t('sign.authorities_own')],
  pay.kind === 'stake' && [t('sign.stake_deposit'), t('sign.stake_deposit_back')],
  pay.kind === 'unstake' && pay.lamports > 0n && [t('sign.stake_deposit'), t('sign.sol', { amount: sol(pay.lamports) })],
  pay.kind === 'withdraw' && [t('sign.stake_account'), shown(pay.account)],
  pay.merged > 0 && [t('sign.merged'), t('sign.merged_count', { count: pay.merged })],
];

/** The amount, large: its number first and its unit smaller, in the order of the language. */
const amountLine = (pay) => h('p', { class: 'amount' }, pay.symbol
  ? rich('sign.amount', { amount: h('span', { class: 'number' }, pay.amount), symbol: pay.symbol })
  : rich('sign.amount_unknown', { amount: h('span', { class: 'number' }, pay.amount) }));

const target = (pay) => h('p', { class: 'to' }, shown(pay.to || pay.account));

const recipient = (pay) => [h('p', { class: 'label' }, t(pay.to ? 'sign.to' : 'sign.to_account')), target(pay)];

/** What is paid to whom. Warnings stand beside what they warn of, never below the buttons. */
export const summary = (pay, offer) => (pay.kind === 'swap' ? swapSummary(pay, offer) : pay.kind === 'revoke' ? revokeSummary(pay, offer) : pay.kind ? stakeSummary(pay, offer) : [
  h('p', { class: 'label' }, t('sign.you_send')),
  amountLine(pay),
  pay.mint && !pay.symbol && [
    notice('warn', t('sign.unknown_token')),
    h('p', { class: 'label' }, t('sign.mint')), h('p', null, shown(pay.mint))],
  recipient(pay),
  (offer.contact || offer.app || offer.keyHint || offer.label) && h('div', { class: 'claimed' },
    h('p', { class: 'label' }, t('sign.server_says')),
    offer.contact && h('p', null, rich('sign.contact', { name: foreign(offer.contact, 64) })),
    requester(offer),
    offer.label && h('p', null, rich('sign.label', { name: foreign(offer.label, 80) }))),
  !pay.to && notice('warn', t('sign.unknown_owner')),
].flat());

/** What is signed, from the transaction alone and without advice: above the passphrase, and on the last screen. */
export const brief = (pay) => h('div', { class: 'card pay small' },
  pay.kind === 'swap' ? swapSides(pay) : pay.kind ? summary(pay, {}) : [amountLine(pay), ...recipient(pay)]);

/** What brief needs of a payment, to be kept with its signature. */
export const shownOf = ({ kind, whole, amount: much, symbol, mint, to, account, least }) => ({ kind, whole, amount: much, symbol, mint, to, account, least });
