package purser

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// The actions of a StakeRequest.
const (
	Delegate   = "delegate"
	Undelegate = "undelegate"
	Withdraw   = "withdraw"
)

// StakeRequest is one step of staking to propose.
type StakeRequest struct {
	Address          string `json:"address"`
	Action           string `json:"action"`                      // Delegate, Undelegate or Withdraw
	Amount           string `json:"amount,omitempty"`            // "2", in SOL; "": all, not for Delegate
	ValidatorAddress string `json:"validator_address,omitempty"` // for Delegate: a vote account; "": the first of Validators
	StakeAccount     string `json:"stake_account,omitempty"`     // for the others; "": those that fit
}

// Stake is POST /v1/stake. Like Send, it asks the owner, or waits for the signature of the program that holds the key.
func (c *Client) Stake(ctx context.Context, r StakeRequest) (Proposal, error) {
	return do[Proposal](ctx, c, call{method: http.MethodPost, path: "/v1/stake", body: r})
}

// StakePosition is one stake account. Amounts are in SOL.
type StakePosition struct {
	StakeAccount     string    `json:"stake_account"`
	ValidatorAddress string    `json:"validator_address"` // the vote account; "" if it was never delegated
	ValidatorName    string    `json:"validator_name"`    // what the validator calls itself; "" without a name
	State            string    `json:"state"`             // "activating", "active", "deactivating" or "inactive"
	Staked           string    `json:"staked"`
	Balance          string    `json:"balance"` // with its deposit
	Withdrawable     string    `json:"withdrawable"`
	ChangesAt        time.Time `json:"changes_at"` // about when a warm-up or cooldown ends; zero in other states
	Hold             string    `json:"hold"`       // why it can't be used: "foreign_authority" or "locked"; "" if it can
}

func (p StakePosition) complete() bool { return p.StakeAccount != "" && p.State != "" }

// StakePositions are the stakes of a wallet, the largest first.
type StakePositions struct {
	Address     string          `json:"address"`
	Epoch       uint64          `json:"epoch"`
	EpochEndsAt time.Time       `json:"epoch_ends_at"` // an estimate
	Positions   []StakePosition `json:"positions"`
}

func (p StakePositions) complete() bool { return p.Positions != nil && all(p.Positions) }

// StakePositions is GET /v1/stake/positions.
func (c *Client) StakePositions(ctx context.Context, address string) (StakePositions, error) {
	return do[StakePositions](ctx, c, call{method: http.MethodGet, path: "/v1/stake/positions", query: url.Values{"address": {address}}})
}

// StakeReward is what one stake earned in one epoch. Amounts are in SOL.
type StakeReward struct {
	Epoch            uint64 `json:"epoch"`
	StakeAccount     string `json:"stake_account"`
	ValidatorAddress string `json:"validator_address"` // the vote account that it is delegated to now
	ValidatorName    string `json:"validator_name"`    // what the validator calls itself; "" without a name
	Amount           string `json:"amount"`
	Balance          string `json:"balance"`        // afterwards, with its deposit
	CommissionBPS    *int   `json:"commission_bps"` // what the validator kept, in basis points; nil if nobody knows
}

func (r StakeReward) complete() bool { return r.StakeAccount != "" && r.Amount != "" }

// StakeRewards are the rewards of a wallet's stakes, the newest epoch first. Amounts are in SOL.
type StakeRewards struct {
	Address    string        `json:"address"`
	FirstEpoch *uint64       `json:"first_epoch"` // the first epoch that is covered; nil if none is
	LastEpoch  *uint64       `json:"last_epoch"`
	Waiting    bool          `json:"waiting"` // the rewards of the last epoch are still being paid
	Pruned     bool          `json:"pruned"`  // the epochs before FirstEpoch are forgotten
	Total      string        `json:"total"`
	NotStaked  string        `json:"not_staked"` // what the accounts hold beside stake and deposit: no reward
	APYBPS     int           `json:"apy_bps"`    // the yield of a year like these epochs, in basis points; 0 without a reward
	Rewards    []StakeReward `json:"rewards"`
}

func (r StakeRewards) complete() bool { return r.Rewards != nil && all(r.Rewards) }

// StakeRewards is GET /v1/stake/rewards: of the last epochs, 1 to 10; 0 means 5.
func (c *Client) StakeRewards(ctx context.Context, address string, epochs int) (StakeRewards, error) {
	query := url.Values{"address": {address}}
	if epochs != 0 {
		query.Set("epochs", strconv.Itoa(epochs))
	}
	return do[StakeRewards](ctx, c, call{method: http.MethodGet, path: "/v1/stake/rewards", query: query})
}

// StakeValidator is a validator to stake with.
type StakeValidator struct {
	ValidatorAddress string `json:"validator_address"` // the vote account
	Name             string `json:"name"`              // what it calls itself; "" without a name
	CommissionBPS    int    `json:"commission_bps"`    // what it keeps of the rewards, in basis points
	Staked           string `json:"staked"`
	Delinquent       bool   `json:"delinquent"`    // it does not vote at the moment
	Superminority    bool   `json:"superminority"` // one of the largest, which together hold a third of all stake
}

func (v StakeValidator) complete() bool { return v.ValidatorAddress != "" }

// stakeValidators is what GET /v1/stake/validators returns.
type stakeValidators struct {
	Validators []StakeValidator `json:"validators"`
}

func (v stakeValidators) complete() bool { return v.Validators != nil && all(v.Validators) }

// StakeValidators is GET /v1/stake/validators: the best first, at most 100. The first is the default of Stake.
func (c *Client) StakeValidators(ctx context.Context) ([]StakeValidator, error) {
	list, err := do[stakeValidators](ctx, c, call{method: http.MethodGet, path: "/v1/stake/validators"})
	return list.Validators, err
}
