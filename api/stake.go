package api

import (
	"strconv"

	"github.com/gofiber/fiber/v2"

	"purser/handlers"
	"purser/store"
	"purser/wallet"
)

// stakeKinds are the values of action in POST /v1/stake.
func stakeKinds() map[string]wallet.Kind {
	return map[string]wallet.Kind{"delegate": wallet.Stake, "undelegate": wallet.Unstake, "withdraw": wallet.Withdraw}
}

// stake is POST /v1/stake {address, action, amount, validator_address | stake_account}. It answers as a send does: 202, and
// the chat asks the owner to confirm.
func (s *Server) stake(c *fiber.Ctx, key wallet.Key) error {
	fields, err := jsonBody(c)
	if err != nil {
		return err
	}
	req, err := stakeRequest(fields)
	if err != nil {
		return err
	}
	return s.idempotent(c, key, func(saveAnswer save) error {
		p, err := s.Stakes.Prepare(c.UserContext(), handlers.CallerOf(key), req)
		if err != nil {
			return err
		}
		return s.answer(c, fiber.StatusAccepted, saveAnswer, func(tx store.Tx) ([]byte, error) {
			t, err := s.Stakes.CommitByProgram(tx, p)
			if err != nil {
				return nil, err
			}
			return s.sent(key, t)
		})
	})
}

// stakeRequest parses the fields of a step of staking. Without an amount all of it is undelegated or withdrawn; what is
// delegated must be named.
func stakeRequest(fields object) (req handlers.StakeRequest, err error) {
	const validator, account, delegate = "validator_address", "stake_account", "delegate"
	if err := fields.only("address", "action", "amount", validator, account); err != nil {
		return req, err
	}
	if req.From, err = fields.ownWallet("address"); err != nil {
		return req, err
	}
	action, err := fields.text("action")
	if err != nil {
		return req, err
	}
	kind, ok := stakeKinds()[action]
	if !ok {
		return req, bad("action", "body.one_of", wallet.ListArg("Choices", []string{delegate, "undelegate", "withdraw"}))
	}
	req.Kind = kind
	// Everything can be undelegated or withdrawn without a figure. How much is staked is never guessed.
	if _, given := fields["amount"]; given || action == delegate {
		if req.Amount.Exact, err = fields.amount(); err != nil {
			return req, err
		}
	} else {
		req.Amount.Max = true
	}
	// Each action takes one of the two addresses. The other one would be ignored, so it is refused.
	named, other, into := validator, account, &req.Validator
	if action != delegate {
		named, other, into = account, validator, &req.Account
	}
	if _, given := fields[other]; given {
		return req, badName(other, "body.unknown")
	}
	if _, given := fields[named]; given {
		*into, err = fields.address(named)
	}
	return req, err
}

// positionsData is `data` of GET /v1/stake/positions. Amounts are in SOL.
type positionsData struct {
	Address   string         `json:"address"`
	Epoch     uint64         `json:"epoch"`
	EpochEnds string         `json:"epoch_ends_at"` // about
	Positions []positionData `json:"positions"`
}

type positionData struct {
	StakeAccount     wallet.Address    `json:"stake_account"`
	ValidatorAddress wallet.Address    `json:"validator_address"` // "" without a delegation
	ValidatorName    string            `json:"validator_name"`    // what it calls itself; "" without
	State            wallet.StakeState `json:"state"`
	Staked           string            `json:"staked"`
	Balance          string            `json:"balance"`
	Withdrawable     string            `json:"withdrawable"`
	ChangesAt        string            `json:"changes_at"` // about when a warm-up or cooldown ends; "" in other states
	Hold             wallet.StakeHold  `json:"hold"`       // why it can't be used; "" if it can
}

// stakePositions is GET /v1/stake/positions?address=. Only those who may read the wallet get an answer.
func (s *Server) stakePositions(c *fiber.Ctx, key wallet.Key) error {
	q, err := query(c, "address")
	if err != nil {
		return err
	}
	if q["address"] == "" {
		return bad("address", "body.missing")
	}
	address, err := parseAddress("address", q["address"])
	if err != nil {
		return err
	}
	p, err := s.Stakes.PositionsFor(c.UserContext(), handlers.CallerOf(key), address)
	if err != nil {
		return err
	}
	data := positionsData{Address: p.Address.String(), Epoch: p.Epoch.Epoch, EpochEnds: stamp(p.Epoch.EndsAfter(1)), Positions: []positionData{}}
	for _, one := range p.All {
		d := positionData{StakeAccount: one.Address, ValidatorAddress: one.Voter, ValidatorName: one.Validator.Name, State: one.State,
			Staked: wallet.Lamports(one.Stake).String(), Balance: wallet.Lamports(one.Lamports).String(), Withdrawable: wallet.Lamports(one.Withdrawable).String(),
			ChangesAt: stamp(one.ChangesAt), Hold: one.Hold}
		// The account still has the amount of its last delegation, which is not staked any more.
		if one.State == wallet.StakeInactive {
			d.Staked = wallet.Lamports(0).String()
		}
		data.Positions = append(data.Positions, d)
	}
	return s.succeed(c, fiber.StatusOK, "done.stake_positions", data)
}

// rewardsData is `data` of GET /v1/stake/rewards. Amounts are in SOL.
type rewardsData struct {
	Address    string       `json:"address"`
	FirstEpoch *uint64      `json:"first_epoch"` // null if no epoch is covered
	LastEpoch  *uint64      `json:"last_epoch"`
	Waiting    bool         `json:"waiting"`
	Pruned     bool         `json:"pruned"`
	Total      string       `json:"total"`
	NotStaked  string       `json:"not_staked"`
	APYBPS     uint64       `json:"apy_bps"`
	Rewards    []rewardData `json:"rewards"`
}

type rewardData struct {
	Epoch            uint64         `json:"epoch"`
	StakeAccount     wallet.Address `json:"stake_account"`
	ValidatorAddress wallet.Address `json:"validator_address"`
	ValidatorName    string         `json:"validator_name"` // what it calls itself; "" without
	Amount           string         `json:"amount"`
	Balance          string         `json:"balance"`        // after it
	CommissionBPS    *uint64        `json:"commission_bps"` // null if the node does not tell
}

// stakeRewards is GET /v1/stake/rewards?address=&epochs=. Only those who may read the wallet get an answer.
func (s *Server) stakeRewards(c *fiber.Ctx, key wallet.Key) error {
	q, err := query(c, "address", "epochs")
	if err != nil {
		return err
	}
	if q["address"] == "" {
		return bad("address", "body.missing")
	}
	address, err := parseAddress("address", q["address"])
	if err != nil {
		return err
	}
	epochs := uint64(handlers.UsualRewardEpochs)
	if text, given := q["epochs"]; given {
		if epochs, err = strconv.ParseUint(text, 10, 64); err != nil || epochs == 0 || epochs > handlers.MaxRewardEpochs {
			return bad("epochs", "body.count_of", wallet.NumberArg("Most", handlers.MaxRewardEpochs))
		}
	}
	r, err := s.Stakes.RewardsFor(c.UserContext(), handlers.CallerOf(key), address, epochs)
	if err != nil {
		return err
	}
	data := rewardsData{Address: r.Address.String(), Waiting: r.Waiting, Pruned: r.Pruned, Total: wallet.Lamports(r.Total).String(),
		NotStaked: wallet.Lamports(r.NotStaked).String(), APYBPS: r.Yield, Rewards: []rewardData{}}
	if r.First <= r.Last {
		data.FirstEpoch, data.LastEpoch = &r.First, &r.Last
	}
	for _, one := range r.All {
		d := rewardData{Epoch: one.Epoch, StakeAccount: one.Account, ValidatorAddress: one.Validator.Vote, ValidatorName: one.Validator.Name,
			Amount: wallet.Lamports(one.Lamports).String(), Balance: wallet.Lamports(one.Balance).String()}
		if one.Commission != wallet.UnknownCommission {
			d.CommissionBPS = &one.Commission
		}
		data.Rewards = append(data.Rewards, d)
	}
	return s.succeed(c, fiber.StatusOK, "done.stake_rewards", data)
}

// validatorsData is `data` of GET /v1/stake/validators.
type validatorsData struct {
	Validators []validatorData `json:"validators"`
}

type validatorData struct {
	ValidatorAddress wallet.Address `json:"validator_address"`
	Name             string         `json:"name"`
	CommissionBPS    uint64         `json:"commission_bps"`
	Staked           string         `json:"staked"`
	Delinquent       bool           `json:"delinquent"`
	Superminority    bool           `json:"superminority"`
}

// maxValidators is how many validators are listed: the best. Others can be named all the same.
const maxValidators = 100

// stakeValidators is GET /v1/stake/validators: the best first. The first is the default of POST /v1/stake.
func (s *Server) stakeValidators(c *fiber.Ctx, _ wallet.Key) error {
	if _, err := query(c); err != nil {
		return err
	}
	all, err := s.Stakes.Validators(c.UserContext())
	if err != nil {
		return err
	}
	data := validatorsData{Validators: []validatorData{}}
	for _, v := range all[:min(len(all), maxValidators)] {
		data.Validators = append(data.Validators, validatorData{ValidatorAddress: v.Vote, Name: v.Name, CommissionBPS: v.Commission,
			Staked: wallet.Lamports(v.Stake).String(), Delinquent: v.Delinquent, Superminority: v.Superminority})
	}
	return s.succeed(c, fiber.StatusOK, "done.stake_validators", data)
}
