package chat

import (
	"context"
	"slices"
	"strings"

	"purser/handlers"
	"purser/wallet"
)

// weighed is what came of what a person has said of a transfer so far.
type weighed struct {
	trigger  Trigger
	parts    parts
	refusal  error    // why something is asked again, or refused for good
	amounts  []string // to choose from, for a question
	proposal handlers.Proposal
}

// send answers /send, with any of its parts missing.
func (c *Chat) send(ctx context.Context, h heard) (act, error) {
	p, err := readParts(h.line.args)
	if err != nil && wallet.FieldOf(err) == "" {
		return func(s *scene) error {
			if err := s.refused(err); err != nil {
				return err
			}
			usage, err := s.usage("send")
			if err != nil {
				return err
			}
			return s.say("help.usage", vars{"Usage": usage})
		}, nil
	}
	return c.transfer(ctx, h, idle, p, err)
}

// hearAmount takes the answer to "how much".
func (c *Chat) hearAmount(ctx context.Context, h heard, args []string) (act, error) {
	got, err := readParts(args)
	if wallet.FieldOf(err) == "" && (err != nil || got.Amount == "" && got.To == "") {
		got, err = parts{}, wallet.Refuse(wallet.InvalidRequest, "send an amount as a number, for example 1.5, or max")
	}
	return c.transfer(ctx, h, h.at(sendFlow), h.topic.parts.with(got), err)
}

// hearAddress takes the answer to "to whom".
func (c *Chat) hearAddress(ctx context.Context, h heard, args []string) (act, error) {
	got, err := readParts(args)
	if wallet.FieldOf(err) == "" && (err != nil || got.To == "") {
		got, err = parts{To: strings.Join(args, " ")}, nil // judged as an address, it is told what is wrong
		if got.To == "" {
			err = wallet.Refuse(wallet.InvalidRequest, "send the address as text")
		}
	}
	return c.transfer(ctx, h, h.at(sendFlow), h.topic.parts.with(got), err)
}

// with puts newer words in the place of older ones.
func (p parts) with(newer parts) parts {
	if newer.Amount != "" {
		p.Amount, p.Token = newer.Amount, newer.Token
	}
	if newer.Token != "" {
		p.Token = newer.Token
	}
	if newer.To != "" {
		p.To = newer.To
	}
	return p
}

// transfer goes on with a transfer as far as its parts allow; at is the question that was answered,
// idle for none. unread is what the words were refused for, if they were: the part that it is about
// is asked for, whatever was said of it before.
func (c *Chat) transfer(ctx context.Context, h heard, at State, p parts, unread error) (act, error) {
	p.drop(wallet.FieldOf(unread))
	w, err := c.weigh(ctx, h, at, p)
	if err != nil {
		return nil, err
	}
	if w.refusal == nil {
		w.refusal = unread
	}
	return w.act, nil
}

// drop forgets one part.
func (p *parts) drop(field wallet.Field) {
	switch field {
	case wallet.FieldAmount:
		p.Amount = ""
	case wallet.FieldTo:
		p.To = ""
	}
}

// act walks the conversation by what was found.
func (w weighed) act(s *scene) error {
	s.weighed, s.topic.parts = w, w.parts
	return s.walk(sendFlow, w.trigger)
}

// weigh finds out what is missing, wrong, or possible. Only a breakdown is an error.
func (c *Chat) weigh(ctx context.Context, h heard, at State, p parts) (weighed, error) {
	refused := func(err error) (weighed, error) {
		if !labelled(err) {
			return weighed{}, err
		}
		return weighed{trigger: impossible, refusal: err}, nil
	}
	if p.Token == "" {
		p.Token = wallet.SOL.Symbol
	}
	token, err := c.Transfers.Token(p.Token)
	if err != nil {
		return refused(err)
	}
	from, err := c.Wallets.Default(ctx, h.user.ID)
	if err != nil {
		return refused(err)
	}
	w := weighed{parts: p}
	if p.To != "" {
		err := checkAddress(p.To)
		if err == nil {
			_, err = c.Transfers.Destination(p.To, from.Address)
		}
		if err != nil {
			w.refusal, w.parts.To = err, ""
		}
	}
	if p.Amount != "" {
		if err := checkAmount(p.Amount, token); err != nil {
			w.refusal, w.parts.Amount = err, ""
		}
	}
	if w.refusal != nil && !labelled(w.refusal) {
		return weighed{}, w.refusal
	}
	if w.parts.Amount != "" && w.parts.To != "" {
		w.proposal, err = c.Transfers.Prepare(ctx, h.caller(), handlers.SendRequest{
			From: from.Address, To: w.parts.To, Amount: w.parts.Amount, Token: w.parts.Token,
		})
		if err == nil {
			w.trigger = possible
			return w, nil
		}
		if !w.asksOn(at, err) {
			return refused(err)
		}
	}
	w.trigger = addressMissing
	if w.parts.Amount == "" {
		w.trigger = amountMissing
	}
	if w.trigger == amountMissing || at == idle { // who has nothing to send is told before being asked
		w.amounts, err = c.choices(ctx, from.Address)
		if wallet.CodeOf(err) == wallet.InsufficientFunds || err != nil && !labelled(err) {
			return refused(err)
		}
	}
	return w, nil // a network that does not answer only leaves the question without proposals
}

// asksOn tells whether a refused transfer is worth another question: for the part that the refusal
// is about, or the same once more when the network does not answer in the midst of a conversation.
func (w *weighed) asksOn(at State, err error) bool {
	silent := wallet.CodeOf(err) == wallet.NetworkError
	switch field := wallet.FieldOf(err); {
	case field != "":
		w.parts.drop(field)
	case silent && at == asksAmount:
		w.parts.drop(wallet.FieldAmount)
	case silent && at == asksAddress:
		w.parts.drop(wallet.FieldTo)
	default:
		return false
	}
	w.refusal = err
	return true
}

// choices are amounts that a balance allows, to tap on: up to three round ones, and max.
func (c *Chat) choices(ctx context.Context, from wallet.Address) ([]string, error) {
	balance, err := c.Wallets.Balance(ctx, from)
	if err != nil {
		return nil, err
	}
	free := balance.Lamports - balance.Reserved
	if free <= c.Transfers.Fee {
		return nil, handlers.NothingToSend(free, c.Transfers.Fee)
	}
	const oneSOL = 1_000_000_000
	var round []string
	for _, units := range []uint64{oneSOL / 100, oneSOL / 20, oneSOL / 10, oneSOL / 2, oneSOL, 5 * oneSOL, 10 * oneSOL, 50 * oneSOL, 100 * oneSOL} {
		// The usual small amounts come first; a large balance does not push them out.
		if units <= free-c.Transfers.Fee && (units <= oneSOL || len(round) < 3) {
			round = append(round, wallet.Lamports(units).String())
		}
	}
	return append(round[max(0, len(round)-3):], handlers.Max), nil
}

// askAmount asks how much, with amounts to tap on.
func (s *scene) askAmount() error {
	if err := s.newQuestion(); err != nil {
		return err
	}
	var rows [][]Button
	var row []Button
	for _, amount := range s.weighed.amounts {
		b, err := s.button(html(amount), "amount:"+amount, s.topic.Ask, s.conv.ExpiresAt)
		if err != nil {
			return err
		}
		row = append(row, b)
	}
	if len(row) > 0 {
		rows = append(rows, row)
	}
	v := vars{"To": html("")}
	if s.topic.To != "" {
		v["To"] = code(s.topic.To)
	}
	return s.ask("send.ask_amount", v, rows)
}

// askAddress asks where to, with those to tap on who were sent something before.
func (s *scene) askAddress() error {
	if err := s.newQuestion(); err != nil {
		return err
	}
	known, err := s.recipients()
	if err != nil {
		return err
	}
	var rows [][]Button
	for _, to := range known {
		b, err := s.button(html("…"+to.Tail()), "to:"+to.String(), s.topic.Ask, s.conv.ExpiresAt)
		if err != nil {
			return err
		}
		rows = append(rows, []Button{b})
	}
	v := vars{"Amount": s.topic.Amount, "Max": strings.EqualFold(s.topic.Amount, handlers.Max), "Known": len(known) > 0}
	return s.ask("send.ask_address", v, rows)
}

// recipients are up to three addresses that this person's own transfers have reached, newest
// first. Whoever merely sent something is not among them: look-alikes are planted that way.
func (s *scene) recipients() ([]wallet.Address, error) {
	const look, most = 20, 3
	past, err := s.tx.TransactionsOf(s.user.ID, "", look)
	if err != nil {
		return nil, err
	}
	var out []wallet.Address
	for _, t := range past {
		sent := t.Kind == wallet.Send && t.Status == wallet.Confirmed && !calledOff(t)
		if sent && len(out) < most && !slices.Contains(out, t.To) {
			out = append(out, t.To)
		}
	}
	return out, nil
}

// newQuestion names the question: its buttons belong together, and only the newest's count.
func (s *scene) newQuestion() error {
	nonce, err := s.nonce()
	s.topic.Ask = "ask:" + nonce
	return err
}

// ask puts a question, with what was wrong about the last answer before it, and a way out below.
func (s *scene) ask(key string, v vars, rows [][]Button) error {
	v["Reason"] = html("")
	asked, err := s.words.text(key, v)
	if err != nil {
		return err
	}
	s.topic.Asked = asked
	if s.weighed.refusal != nil {
		headline, reason, err := s.words.refusal(s.weighed.refusal)
		if err != nil {
			return err
		}
		if v["Reason"] = reason; reason == "" {
			v["Reason"] = headline
		}
	}
	label, err := s.words.text("button.cancel", nil)
	if err != nil {
		return err
	}
	stop, err := s.button(label, "stop", s.topic.Ask, s.conv.ExpiresAt)
	if err != nil {
		return err
	}
	return s.show(s.topic.Ask, key, v, append(rows, []Button{stop})...)
}

// closeQuestion takes the buttons from a question that waits no more: they would only say so.
func (s *scene) closeQuestion(was topic) error {
	if was.Ask == "" || was.Asked == "" || was.Ask == s.topic.Ask {
		return nil
	}
	return s.reply(Reply{Kind: Message, Text: string(was.Asked)}, was.Ask)
}

// showReview stores the proposal and shows its card.
func (s *scene) showReview() error {
	t := s.weighed.proposal.Transaction
	if err := s.Transfers.Commit(s.tx, s.weighed.proposal); err != nil {
		return err
	}
	s.topic = topic{Transaction: t.ID}
	s.conv.ExpiresAt = t.Deadline
	return s.card(t)
}

func (s *scene) sayRefused() error   { return s.refused(s.weighed.refusal) }
func (s *scene) sayCancelled() error { return s.say("cancel.done", nil) }
func (s *scene) sayDropped() error   { return s.say("cancel.dropped", nil) }
func (s *scene) saySilent() error    { return s.say("cancel.silent", nil) }

// rejectTransaction ends the transaction of this conversation, if it still can be.
func (s *scene) rejectTransaction() error { return s.reject("cancel.rejected") }

// dropTransaction is rejectTransaction when something else was begun.
func (s *scene) dropTransaction() error { return s.reject("cancel.replaced") }

func (s *scene) reject(key string) error {
	id := s.topic.Transaction
	t, err := s.Transfers.Reject(s.tx, s.caller(), id)
	if labelled(err) {
		return s.refused(err) // it is on its way, or has ended: the sentence says which
	}
	if err != nil {
		return err
	}
	if err := s.card(t); err != nil {
		return err
	}
	return s.say(key, nil)
}
