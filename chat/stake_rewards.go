package chat

import (
	"context"
	"strconv"
	"strings"

	"purser/handlers"
	"purser/wallet"
)

// maxRewards is how many rewards one message lists.
const maxRewards = 20

// stakeRewards lists what the stakes of the default wallet earned in the last epochs: /stake rewards.
func (c *Chat) stakeRewards(ctx context.Context, h Inbound) (Action, error) {
	w, err := c.Wallets.Default(ctx, h.user.ID)
	if err != nil {
		return refuse(err)
	}
	if err := c.mayAsk(h); err != nil {
		return nil, err
	}
	r, err := c.Stakes.Rewards(ctx, w.Address, handlers.UsualRewardEpochs)
	if err != nil {
		return refuse(err)
	}
	return func(s *replyTx) error {
		var lines []string
		for _, one := range r.All[:min(len(r.All), maxRewards)] {
			line, err := s.words.text("staking.reward", vars{"Epoch": strconv.FormatUint(one.Epoch, 10), "Amount": code(wallet.Lamports(one.Lamports).String()),
				"Account": code("…" + one.Account.Tail()), "Validator": validatorName(one.Validator.Name)})
			if err != nil {
				return err
			}
			lines = append(lines, string(line))
		}
		v := vars{"Lines": html(strings.Join(lines, "\n")), "More": left(len(r.All) - maxRewards), "Total": wallet.Lamports(r.Total).String(), "Yield": "",
			"Waiting": r.Waiting, "Pruned": r.Pruned, "NotStaked": html(""), "Tail": code("…" + w.Address.Tail()), "Network": s.network()}
		if r.Yield > 0 && r.Yield < wallet.MaxYield { // a test network with short epochs has absurd ones
			v["Yield"] = percent(r.Yield)
		}
		if r.NotStaked > 0 {
			v["NotStaked"] = code(wallet.Lamports(r.NotStaked).String())
		}
		return s.reply("staking.rewards", v)
	}, nil
}
