package chat

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"purser/handlers"
	"purser/wallet"
)

// stakeCommand is /stake: the stakes of the default wallet, and each step of staking. It has no questions: what is missing is
// offered as buttons that run the whole command. Later steps of a transaction reach the chat as events.
func stakeCommand() conversation {
	return conversation{
		name: "stake",
		commands: []command{{name: "stake", menu: "menu.stake", usage: "usage.stake", looks: true, run: (*Chat).stake, app: (*Chat).stakeForApp, appNeeds: stakeNeeds,
			aliases: map[string]string{"staking": "", "delegate": "delegate", "undelegate": "undelegate", "unstake": "undelegate", "validators": "validators", "rewards": "rewards"}}},
		events: stakeEvents(),
	}
}

// stakeNeeds returns the scope that an app needs besides bot:execute: wallet:read for everything that shows what a person has.
// Proposing a step and listing the validators show nothing of it.
func stakeNeeds(args []string) wallet.Scope {
	if len(args) > 0 {
		action := strings.ToLower(args[0])
		if _, step := stakeSteps()[action]; step || action == "validators" {
			return ""
		}
	}
	return wallet.WalletRead
}

// stakeSteps are the words for the steps of staking.
func stakeSteps() map[string]wallet.Kind {
	return map[string]wallet.Kind{"delegate": wallet.Stake, "undelegate": wallet.Unstake, "unstake": wallet.Unstake, "withdraw": wallet.Withdraw}
}

// stake answers /stake and its actions.
func (c *Chat) stake(ctx context.Context, h Inbound) (Action, error) {
	action := ""
	if len(h.line.args) > 0 {
		action = strings.ToLower(h.line.args[0])
	}
	_, step := stakeSteps()[action]
	switch {
	case action == "validators":
		return c.stakeValidators(ctx, h)
	case action == "delegate" && !hasAmount(h.line.args[1:]):
		return c.askStake(ctx, h)
	case step:
		return c.proposeStake(ctx, h)
	case action == "rewards":
		return c.stakeRewards(ctx, h)
	case action == "", action == "list", action == "positions":
		return c.stakeOverview(ctx, h)
	}
	return stakeUsage()
}

// stakeUsage answers with how /stake is written.
func stakeUsage() (Action, error) {
	return func(s *replyTx) error { return s.replyUsage("stake") }, nil
}

// stakePage returns the page that a list's words ask for, which is 1 if they name none: list 2, validators 2. ok is false for
// anything else behind the list's name.
func stakePage(args []string) (page int, ok bool) {
	if len(args) <= 1 {
		return 1, true
	}
	page, err := strconv.Atoi(args[1])
	return page, err == nil && page > 0 && len(args) == 2
}

// hasAmount reports whether one of the words is not an address, and so is meant as an amount. It does not check the amount:
// readStake does, and explains what is wrong with it.
func hasAmount(words []string) bool {
	return slices.ContainsFunc(words, func(word string) bool { _, err := wallet.ParseAddress(word); return err != nil })
}

// readStake parses the words of a step: an amount of SOL, and an address, in any order. The address is the vote account of a
// validator for delegate, and a stake account for the other steps. Without an amount, the step takes everything (max). args[0]
// must be a key of stakeSteps. A second amount or address is INVALID_REQUEST: a guess could move the wrong stake.
func readStake(args []string) (handlers.StakeRequest, error) {
	req := handlers.StakeRequest{Kind: stakeSteps()[strings.ToLower(args[0])], Amount: wallet.Quantity{Max: true}}
	named, given := wallet.Address{}, false
	for _, word := range args[1:] {
		at, err := wallet.ParseAddress(word)
		switch {
		case err == nil && named.IsZero():
			named = at
			continue
		case err == nil || given && !strings.EqualFold(word, wallet.SOL.Symbol):
			return req, wallet.About(wallet.FieldAmount, wallet.Refuse(wallet.InvalidRequest, "stakes.words"))
		case given:
			continue // the SOL in "2 SOL"
		}
		amount := readAmount(word)
		if err := amount.refusal(); err != nil {
			return req, err
		}
		req.Amount, given = amount.Quantity, true
	}
	if req.Validator = named; req.Kind != stakeSteps()["delegate"] {
		req.Validator, req.Account = wallet.Address{}, named
	}
	return req, nil
}

// proposeStake proposes a step. Its card has Confirm and Reject. Prepare reads the chain and runs before the transaction. Commit
// stores the proposal, and the card is queued in that same transaction.
func (c *Chat) proposeStake(ctx context.Context, h Inbound) (Action, error) {
	req, err := readStake(h.line.args)
	if err != nil {
		return refuse(err)
	}
	if err := c.mayAsk(h); err != nil {
		return nil, err
	}
	proposal, err := c.Stakes.Prepare(ctx, h.caller(), req)
	if handlers.NeedsStakeChoice(err) {
		return c.askWhichStake(ctx, h)
	}
	if err != nil {
		return refuse(err)
	}
	return func(s *replyTx) error {
		if err := s.Stakes.Commit(s.tx, proposal); err != nil {
			return err
		}
		return s.card(proposal.Transaction)
	}, nil
}

// askWhichStake answers an undelegation of everything when one transaction cannot undelegate all stakes. It lists the stakes that
// can be undelegated, each with its own button.
func (c *Chat) askWhichStake(ctx context.Context, h Inbound) (Action, error) {
	w, err := c.Wallets.Default(ctx, h.user.ID)
	if err != nil {
		return refuse(err)
	}
	p, err := c.Stakes.Positions(ctx, w.Address)
	if err != nil {
		return refuse(err)
	}
	open := slices.DeleteFunc(p.All, func(one handlers.Position) bool { return !one.CanUndelegate() })
	return func(s *replyTx) error {
		var lines []string
		var rows [][]Button
		for i, one := range open[:min(len(open), stakesAPage)] {
			line, err := s.stakeText(i+1, one)
			if err != nil {
				return err
			}
			b, err := s.stakeButton("stake_button.undelegate", "undelegate", i+1, one)
			if err != nil {
				return err
			}
			lines, rows = append(lines, string(line)), append(rows, []Button{b})
		}
		all, err := s.menu("stake_button.stakes", "/stake")
		if err != nil {
			return err
		}
		v := vars{"Lines": html(strings.Join(lines, "\n\n")), "More": left(len(open) - stakesAPage)}
		return s.reply("staking.ask_which", v, append(rows, all...)...)
	}, nil
}

// stakeForApp is /stake run by an app: the lists, and complete steps, which the person is asked to confirm. No question can be
// asked, so a delegation needs an amount. Refusals are returned as errors, which the API answers with.
func (c *Chat) stakeForApp(ctx context.Context, h Inbound) (Action, error) {
	args := h.line.args
	if len(args) == 0 {
		return c.stakeOverview(ctx, h)
	}
	action := strings.ToLower(args[0])
	if _, step := stakeSteps()[action]; !step {
		_, paged := stakePage(args)
		switch {
		case paged && action == "validators":
			return c.stakeValidators(ctx, h)
		case paged && (action == "list" || action == "positions"):
			return c.stakeOverview(ctx, h)
		case len(args) == 1 && action == "rewards":
			return c.stakeRewards(ctx, h)
		}
		return nil, wallet.About("command", wallet.Refuse(wallet.InvalidRequest, "app_command.stake"))
	}
	req, err := readStake(args)
	if err != nil {
		return nil, err
	}
	if action == "delegate" && req.Amount.Max && !hasAmount(args[1:]) {
		return nil, wallet.Refuse(wallet.InvalidRequest, "app_command.stake_incomplete")
	}
	from, err := c.Wallets.Default(ctx, h.user.ID)
	if err != nil {
		return nil, err
	}
	req.From, req.Ask = from.Address, true
	proposal, err := c.Stakes.Prepare(ctx, handlers.Caller{User: h.user.ID, KeyID: h.app.By.KeyID, KeyLineage: h.app.By.KeyLineage}, req)
	if err != nil {
		return nil, err
	}
	return func(s *replyTx) error {
		t, err := s.Stakes.CommitByProgram(s.tx, proposal)
		if err != nil {
			return err
		}
		return s.reply(stakingTexts(t.Kind)+"proposed", vars{"Sum": t.Money().String(), "ID": code(string(t.ID))})
	}, nil
}

// stakesAPage is how many positions one message shows.
const stakesAPage = 10

// stakeOverview lists the stakes of the default wallet, with a button for what can be done with each: /stake list [page].
// Those that it cannot use stand on the last pages, and count nowhere: anybody can make thousands of them for any wallet.
func (c *Chat) stakeOverview(ctx context.Context, h Inbound) (Action, error) {
	page, ok := stakePage(h.line.args)
	if !ok {
		return stakeUsage()
	}
	w, err := c.Wallets.Default(ctx, h.user.ID)
	if err != nil {
		return refuse(err)
	}
	if err := c.mayAsk(h); err != nil {
		return nil, err
	}
	p, err := c.Stakes.Positions(ctx, w.Address)
	if err != nil {
		return refuse(err)
	}
	return func(s *replyTx) error {
		var lines []string
		var rows [][]Button
		// staked is in lamports and counts the usable stakes of all pages. ready: one can be withdrawn now.
		staked, ready := uint64(0), false
		for _, one := range p.All {
			if one.Hold == wallet.HoldNone && one.State != wallet.StakeInactive {
				staked += one.Stake
			}
			ready = ready || one.State == wallet.StakeInactive && one.Hold == wallet.HoldNone
		}
		pages := max((len(p.All)+stakesAPage-1)/stakesAPage, 1)
		page := min(page, pages)
		first := (page - 1) * stakesAPage
		for i, one := range p.All[first:min(first+stakesAPage, len(p.All))] {
			line, row, err := s.stakeLine(first+i+1, one)
			if err != nil {
				return err
			}
			lines, rows = append(lines, string(line)), append(rows, row...)
		}
		turn, err := s.pageButtons("/stake list", page, pages)
		if err != nil {
			return err
		}
		buttons := []string{"stake_button.stake", "/stake delegate", "stake_button.validators", "/stake validators"}
		if len(p.All) > 0 {
			buttons = append(buttons, "stake_button.rewards", "/stake rewards")
		}
		more, err := s.menu(buttons...)
		if err != nil {
			return err
		}
		return s.reply("staking.overview", vars{"Lines": html(strings.Join(lines, "\n\n")), "Page": page, "Pages": pages, "Paged": pages > 1, "Staked": wallet.Lamports(staked).String(),
			"Ready": ready, "Tail": code("…" + w.Address.Tail()), "Network": s.network(), "Epoch": strconv.FormatUint(p.Epoch.Epoch, 10),
			"EpochEnds": s.words.moment(p.Epoch.EndsAfter(1))}, slices.Concat(rows, turn, more)...)
	}, nil
}

// left returns the number of entries that a message leaves out, for its text; "" for none.
func left(n int) string {
	if n <= 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// stakeText returns the text about a position, numbered n.
func (s *replyTx) stakeText(n int, p handlers.Position) (html, error) {
	v := vars{"N": n, "Staked": wallet.Lamports(p.Stake).String(), "Balance": wallet.Lamports(p.Lamports).String(), "Withdrawable": html(""),
		"Validator": validatorName(p.Validator.Name), "Tail": html(""), "State": string(p.State), "Hold": string(p.Hold), "ChangesAt": "", "Delinquent": p.Validator.Delinquent && p.Delegated()}
	if p.Delegated() {
		v["Tail"] = code("…" + p.Voter.Tail())
	}
	if p.Withdrawable > 0 {
		v["Withdrawable"] = code(wallet.Lamports(p.Withdrawable).String())
	}
	if !p.ChangesAt.IsZero() {
		v["ChangesAt"] = s.words.moment(p.ChangesAt)
	}
	return s.words.text("staking.position", v)
}

// stakeButton is a button that runs a step for the whole of a position, numbered n.
func (s *replyTx) stakeButton(label, step string, n int, p handlers.Position) (Button, error) {
	name, err := s.words.text(label, vars{"N": n})
	if err != nil {
		return Button{}, err
	}
	return s.button(name, "run:/stake "+step+" max "+p.Address.String(), "menu", s.now.Add(menuLife))
}

// stakeLine returns the text about a position, numbered n, and a row with the buttons of its next steps. There is no row for a
// position that nobody can move now, such as one under a lockup (p.Hold).
func (s *replyTx) stakeLine(n int, p handlers.Position) (html, [][]Button, error) {
	text, err := s.stakeText(n, p)
	if err != nil {
		return "", nil, err
	}
	var row []Button
	add := func(label, step string) error {
		b, err := s.stakeButton(label, step, n, p)
		row = append(row, b)
		return err
	}
	if p.CanUndelegate() {
		err = add("stake_button.undelegate", "undelegate")
	}
	if p.Hold == wallet.HoldNone && p.Withdrawable > 0 && err == nil {
		err = add("stake_button.withdraw", "withdraw")
	}
	if len(row) == 0 {
		return text, nil, err
	}
	return text, [][]Button{row}, err
}

// validatorsAPage is how many validators one message shows.
const validatorsAPage = 5

// stakeValidators shows a page of validators, the best first: /stake validators [page].
func (c *Chat) stakeValidators(ctx context.Context, h Inbound) (Action, error) {
	page, ok := stakePage(h.line.args)
	if !ok {
		return stakeUsage()
	}
	if err := c.mayAsk(h); err != nil {
		return nil, err
	}
	all, err := c.Stakes.Validators(ctx)
	if err != nil {
		return refuse(err)
	}
	pages := (len(all) + validatorsAPage - 1) / validatorsAPage
	page = min(page, max(pages, 1))
	shown := all[(page-1)*validatorsAPage : min(page*validatorsAPage, len(all))]
	return func(s *replyTx) error {
		var lines []string
		var rows [][]Button
		for _, one := range shown {
			line, err := s.words.text("staking.validator", vars{"Name": validatorName(one.Name), "Vote": code(one.Vote.String()), "Commission": percent(one.Commission),
				"Staked": code(wallet.Lamports(one.Stake).String()), "Delinquent": one.Delinquent, "Superminority": one.Superminority})
			if err != nil {
				return err
			}
			lines = append(lines, string(line))
			if one.Delinquent || h.app != nil {
				continue
			}
			b, err := s.button(validatorLabel(one), "run:/stake delegate "+one.Vote.String(), "menu", s.now.Add(menuLife))
			if err != nil {
				return err
			}
			rows = append(rows, []Button{b})
		}
		turn, err := s.pageButtons("/stake validators", page, pages)
		if err != nil {
			return err
		}
		return s.reply("staking.validators", vars{"Lines": html(strings.Join(lines, "\n\n")), "Page": page, "Pages": pages, "Paged": pages > 1}, append(rows, turn...)...)
	}, nil
}

// pageButtons are the buttons that lead to the page before and the page after of a list: each runs the command with a page.
func (s *replyTx) pageButtons(command string, page, pages int) ([][]Button, error) {
	var turn []string
	if page > 1 {
		turn = append(turn, "stake_button.previous_page", command+" "+strconv.Itoa(page-1))
	}
	if page < pages {
		turn = append(turn, "stake_button.next_page", command+" "+strconv.Itoa(page+1))
	}
	if len(turn) == 0 {
		return nil, nil
	}
	return s.menu(turn...)
}

// percent returns basis points (hundredths of a percent) as a percentage without trailing zeros: 750 is "7.5".
func percent(points uint64) string {
	return wallet.Amount{Units: points, Decimals: 2}.String()
}

// askStake answers /stake delegate without an amount. It shows the validator, which is the best one if none is named, and offers
// two amounts: the least that the network accepts, and max. Each button runs the complete command. A validator that is not on
// the list is refused.
func (c *Chat) askStake(ctx context.Context, h Inbound) (Action, error) {
	if err := c.mayAsk(h); err != nil {
		return nil, err
	}
	all, err := c.Stakes.Validators(ctx)
	if err != nil {
		return refuse(err)
	}
	minimum, err := c.Stakes.Minimum(ctx)
	if err != nil {
		return refuse(err)
	}
	if len(h.line.args) > 2 { // two addresses: which one is meant?
		return refuse(wallet.Refuse(wallet.InvalidRequest, "stakes.words"))
	}
	words := ""
	at := 0
	if len(h.line.args) > 1 {
		words = " " + h.line.args[1]
		at = slices.IndexFunc(all, func(v wallet.Validator) bool { return v.Vote.String() == h.line.args[1] })
	}
	if at < 0 || len(all) == 0 {
		return refuse(wallet.Refuse(wallet.InvalidRequest, "stakes.no_validator"))
	}
	v := all[at]
	return func(s *replyTx) error {
		least := wallet.Lamports(minimum).String()
		var row []Button
		for _, amount := range []string{least, wallet.Max} {
			label, err := s.words.text("stake_button.stake_amount", vars{"Amount": amount, "Max": amount == wallet.Max})
			if err != nil {
				return err
			}
			b, err := s.button(label, "run:/stake delegate "+amount+words, "menu", s.now.Add(menuLife))
			if err != nil {
				return err
			}
			row = append(row, b)
		}
		other, err := s.menu("stake_button.other_validator", "/stake validators")
		if err != nil {
			return err
		}
		return s.reply("staking.ask_amount", vars{"Name": validatorName(v.Name), "Vote": grouped(v.Vote.String()), "Commission": percent(v.Commission), "Minimum": code(least),
			"Example": code("/stake delegate 2" + words)}, append([][]Button{row}, other...)...)
	}, nil
}
