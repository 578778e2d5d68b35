import type { Fields } from "./fields.js";

/** One step of staking to propose. */
export interface StakeRequest {
  address: string;
  action: "delegate" | "undelegate" | "withdraw";
  /** "2", in SOL. Without it: all, but not to delegate. */
  amount?: string;
  /** To delegate: a vote account. Without it: the first of stakeValidators. */
  validatorAddress?: string;
  /** To undelegate or withdraw from. Without it: those that fit. */
  stakeAccount?: string;
}

/** One stake account. Amounts are in SOL. */
export interface StakePosition {
  stakeAccount: string;
  /** The vote account; "" if it was never delegated. */
  validatorAddress: string;
  /** What the validator calls itself; "" without a name. */
  validatorName: string;
  /** "activating", "active", "deactivating" or "inactive". */
  state: string;
  staked: string;
  /** With its deposit. */
  balance: string;
  withdrawable: string;
  /** About when a warm-up or cooldown ends; undefined in other states. */
  changesAt: Date | undefined;
  /** Why it can't be used: "foreign_authority" or "locked"; "" if it can. */
  hold: string;
}

/** The stakes of a wallet, the largest first. */
export interface StakePositions {
  address: string;
  epoch: number;
  /** An estimate. */
  epochEndsAt: Date | undefined;
  positions: StakePosition[];
}

/** What one stake earned in one epoch. Amounts are in SOL. */
export interface StakeReward {
  epoch: number;
  stakeAccount: string;
  /** The vote account that it is delegated to now. */
  validatorAddress: string;
  /** What the validator calls itself; "" without a name. */
  validatorName: string;
  amount: string;
  /** Afterwards, with its deposit. */
  balance: string;
  /** What the validator kept, in basis points; undefined if nobody knows. */
  commissionBps: number | undefined;
}

/** The rewards of a wallet's stakes, the newest epoch first. Amounts are in SOL. */
export interface StakeRewards {
  address: string;
  /** The first epoch that is covered; undefined if none is. */
  firstEpoch: number | undefined;
  lastEpoch: number | undefined;
  /** The rewards of the last epoch are still being paid. */
  waiting: boolean;
  /** The epochs before firstEpoch are forgotten. */
  pruned: boolean;
  total: string;
  /** What the accounts hold beside stake and deposit: no reward. */
  notStaked: string;
  /** The yield of a year like these epochs, in basis points; 0 without a reward. */
  apyBps: number;
  rewards: StakeReward[];
}

/** A validator to stake with. */
export interface StakeValidator {
  /** The vote account. */
  validatorAddress: string;
  /** What it calls itself; "" without a name. */
  name: string;
  /** What it keeps of the rewards, in basis points. */
  commissionBps: number;
  staked: string;
  /** It does not vote at the moment. */
  delinquent: boolean;
  /** One of the largest, which together hold a third of all stake. */
  superminority: boolean;
}

/** Readers of these types from `data` of a response. They throw Malformed. */
export const stakeReaders = {
  stakePositions: (f: Fields): StakePositions => ({
    address: f.some("address"), epoch: f.count("epoch"), epochEndsAt: f.time("epoch_ends_at"),
    positions: f.records("positions").map((p) => ({
      stakeAccount: p.some("stake_account"), validatorAddress: p.text("validator_address"), validatorName: p.text("validator_name"), state: p.some("state"),
      staked: p.text("staked"), balance: p.text("balance"), withdrawable: p.text("withdrawable"), changesAt: p.time("changes_at"), hold: p.text("hold"),
    })),
  }),
  stakeRewards: (f: Fields): StakeRewards => ({
    address: f.some("address"), firstEpoch: f.number("first_epoch"), lastEpoch: f.number("last_epoch"), waiting: f.flag("waiting"), pruned: f.flag("pruned"),
    total: f.text("total"), notStaked: f.text("not_staked"), apyBps: f.count("apy_bps"),
    rewards: f.records("rewards").map((r) => ({
      epoch: r.count("epoch"), stakeAccount: r.some("stake_account"), validatorAddress: r.some("validator_address"), validatorName: r.text("validator_name"),
      amount: r.some("amount"), balance: r.text("balance"), commissionBps: r.number("commission_bps"),
    })),
  }),
  stakeValidators: (f: Fields): StakeValidator[] => f.records("validators").map((v) => ({
    validatorAddress: v.some("validator_address"), name: v.text("name"), commissionBps: v.count("commission_bps"), staked: v.text("staked"),
    delinquent: v.flag("delinquent"), superminority: v.flag("superminority"),
  })),
};
