package chat

import (
	"strconv"
	"strings"

	"purser/wallet"
)

// newsListed is how many stakes of one sort, or epochs, a message names.
const newsListed = 10

// stakeEvents are the notices of staking.
func stakeEvents() map[wallet.EventName]notice {
	return map[wallet.EventName]notice{
		wallet.StakesChanged:     {priority: alerts, waits: true, notify: withData((*replyTx).notifyStakes)},
		wallet.ValidatorsChanged: {priority: alerts, waits: true, category: wallet.CategoryValidator, notify: withData((*replyTx).notifyValidators)},
	}
}

// notifyStakes sends one message with all that changed of a wallet's stakes: those that earn from now on, those that can be
// withdrawn, and the rewards of each epoch.
func (s *replyTx) notifyStakes(data wallet.StakesChangedData) error {
	stakes := func(all []wallet.StakeNews) (lines []vars) {
		for _, one := range all {
			lines = append(lines, vars{"Sum": wallet.Lamports(one.Lamports).String(), "Validator": validatorName(one.ValidatorName), "Tail": code("…" + one.Voter.Tail())})
		}
		return lines
	}
	var rewards []vars
	for _, of := range data.Rewards {
		rewards = append(rewards, vars{"Epoch": strconv.FormatUint(of.Epoch, 10), "Sum": wallet.Lamports(of.Lamports).String()})
	}
	var parts []string
	for _, part := range []struct {
		category wallet.Category
		text     string
		lines    []vars
	}{{wallet.CategoryStatus, "stake_news.active", stakes(data.Active)}, {wallet.CategoryCooldown, "stake_news.inactive", stakes(data.Inactive)}, {wallet.CategoryReward, "stake_news.reward", rewards}} {
		if len(part.lines) == 0 || !s.user.Wants(part.category) {
			continue
		}
		text, err := s.newsList(part.text, part.lines)
		if err != nil {
			return err
		}
		parts = append(parts, text)
	}
	if len(parts) == 0 {
		return nil
	}
	rows, err := s.menu("stake_button.stakes", "/stake", "stake_button.rewards", "/stake rewards")
	if err != nil {
		return err
	}
	return s.reply("stake_news.text", vars{"Tail": code("…" + data.WalletAddress.Tail()), "Network": s.network(), "Lines": html(strings.Join(parts, "\n\n"))}, rows...)
}

// validatorTexts is the catalogue key of the line about each kind of change.
func validatorTexts() map[wallet.ValidatorChangeKind]string {
	return map[wallet.ValidatorChangeKind]string{wallet.CommissionRaised: "validator_news.commission", wallet.ValidatorSilent: "validator_news.silent",
		wallet.ValidatorVotes: "validator_news.votes", wallet.ValidatorBehind: "validator_news.behind", wallet.ValidatorCaughtUp: "validator_news.caught_up"}
}

// notifyValidators sends one message with all that changed of the validators that a wallet stakes with.
func (s *replyTx) notifyValidators(data wallet.ValidatorsChangedData) error {
	var parts []string
	for _, one := range data.Changes[:min(len(data.Changes), newsListed)] {
		key, known := validatorTexts()[one.Kind]
		if !known { // of a later version of purser
			continue
		}
		line, err := s.words.text(key, vars{"Validator": validatorName(one.Name), "Tail": code("…" + one.Vote.Tail()), "From": percent(one.From), "To": percent(one.To),
			"Since": one.Since, "Epoch": strconv.FormatUint(one.Epoch, 10), "Share": strconv.FormatUint(one.Share, 10)})
		if err != nil {
			return err
		}
		parts = append(parts, string(line))
	}
	if n := len(data.Changes) - newsListed; n > 0 {
		line, err := s.words.text("stake_news.more", vars{"N": strconv.Itoa(n)})
		if err != nil {
			return err
		}
		parts = append(parts, string(line))
	}
	if len(parts) == 0 {
		return nil
	}
	rows, err := s.menu("stake_button.stakes", "/stake", "stake_button.validators", "/stake validators")
	if err != nil {
		return err
	}
	return s.reply("validator_news.text", vars{"Tail": code("…" + data.WalletAddress.Tail()), "Network": s.network(), "Lines": html(strings.Join(parts, "\n\n"))}, rows...)
}

// newsList writes a line for each of some news, and how many are left out.
func (s *replyTx) newsList(key string, all []vars) (string, error) {
	var lines []string
	for _, v := range all[:min(len(all), newsListed)] {
		line, err := s.words.text(key, v)
		if err != nil {
			return "", err
		}
		lines = append(lines, string(line))
	}
	if n := len(all) - newsListed; n > 0 {
		line, err := s.words.text("stake_news.more", vars{"N": strconv.Itoa(n)})
		if err != nil {
			return "", err
		}
		lines = append(lines, string(line))
	}
	return strings.Join(lines, "\n"), nil
}
