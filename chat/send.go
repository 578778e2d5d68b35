package chat

import (
	"context"
	"slices"
	"strings"

	"purser/handlers"
	"purser/wallet"
)

// sendFlow is the name of the conversation of /send.
const sendFlow = "send"

// What it asks, and what moves it.
const (
	asksAmount  State = "amount"
	asksAddress State = "address"
	asksToken   State = "token"
	inReview    State = "review"
	signing     State = "signing"

	amountMissing  Trigger = "amount missing or wrong"
	addressMissing Trigger = "address missing or wrong"
	tokenMissing   Trigger = "token unknown"
	peopleWanted   Trigger = "Choose a person"
	possible       Trigger = "transfer possible"
	impossible     Trigger = "transfer refused"
	confirmed      Trigger = "Confirm"
	signed         Trigger = "signed"
)

// payment is what the conversation of /send remembers.
type payment struct {
	parts
	Transaction wallet.TransactionID `json:"transaction,omitempty"`
	People      int32                `json:"people,omitempty"` // the list of people that is open: Keyboard.Request
}

// sendConversation is /send: from words to a card that waits for Confirm. A transaction's own steps come as
// events.
func sendConversation() conversation {
	return conversation{
		name: sendFlow,
		commands: []command{{name: "send", menu: "menu.send", usage: "usage.send", run: (*Chat).send, app: (*Chat).sendForApp,
			aliases: map[string]string{"pay": "", "transfer": "", "tip": "", "withdraw": ""}}},
		flow: sendTable(), version: 1, data: func() any { return new(payment) },
		texts: map[State]Handler{
			asksAmount:  typedAnswer((*Chat).hearAmount),
			asksAddress: typedAnswer((*Chat).hearAddress),
			asksToken:   typedAnswer((*Chat).hearToken),
			inReview:    (*Chat).hearInReview,
			signing:     func(*Chat, context.Context, Inbound) (Action, error) { return reply("send.use_buttons", nil), nil },
		},
		people: map[State]Handler{asksAddress: (*Chat).hearPicked},
		callbacks: map[string]Callback{
			"confirm":   (*Chat).tapConfirm,
			"reject":    (*Chat).tapReject,
			"amount":    (*Chat).tapAmount,
			"to":        (*Chat).tapAddress,
			"people":    (*Chat).tapPeople,
			"again":     (*Chat).tapAgain,
			"check":     (*Chat).tapCheck,
			"sendagain": (*Chat).tapSendAgain,
		},
		events:     paymentEvents(),
		intercept:  (*Chat).hearTyped,
		offer:      (*Chat).offerPayment,
		cancelIdle: (*replyTx).cancelUnsigned,
		usedButton: (*replyTx).usedCardButton,
	}
}

// sendTable is the table of /send.
func sendTable() Flow {
	asking := func() map[Trigger]Step {
		return map[Trigger]Step{
			amountMissing:  {asksAmount, (*replyTx).askAmount},
			addressMissing: {asksAddress, (*replyTx).askAddress},
			tokenMissing:   {asksToken, (*replyTx).askToken},
			possible:       {inReview, (*replyTx).showReview},
			impossible:     {idle, (*replyTx).sayRefused},
			cancelled:      {idle, (*replyTx).sayCancelled},
			movedOn:        {idle, (*replyTx).sayDropped},
			silence:        {idle, (*replyTx).saySilent},
		}
	}
	askingAddress := asking()
	askingAddress[peopleWanted] = Step{asksAddress, (*replyTx).offerPeople}
	return Flow{
		idle: {
			amountMissing:  {asksAmount, (*replyTx).askAmount},
			addressMissing: {asksAddress, (*replyTx).askAddress},
			tokenMissing:   {asksToken, (*replyTx).askToken},
			possible:       {inReview, (*replyTx).showReview},
			impossible:     {idle, (*replyTx).sayRefused},
		},
		asksAmount:  asking(),
		asksAddress: askingAddress,
		asksToken:   asking(),
		inReview: {
			confirmed: {signing, nil}, // the card says the rest
			cancelled: {idle, (*replyTx).rejectTransaction},
			movedOn:   {idle, (*replyTx).dropTransaction},
			ended:     {idle, nil},
			silence:   {idle, nil}, // the card says so when the transaction expires
		},
		signing: {
			signed:    {idle, nil},
			cancelled: {idle, (*replyTx).rejectTransaction},
			movedOn:   {idle, nil}, // confirmed already: its card and its link stay
			ended:     {idle, nil},
			silence:   {idle, nil},
		},
	}
}

// typedAnswer hands the words of a text to a handler of answers.
func typedAnswer(hear func(*Chat, context.Context, Inbound, []string) (Action, error)) Handler {
	return func(c *Chat, ctx context.Context, h Inbound) (Action, error) { return hear(c, ctx, h, h.line.args) }
}

// offerPayment begins a payment from a payment link or an address alone.
func (c *Chat) offerPayment(ctx context.Context, h Inbound) (Action, error) {
	if len(h.line.args) != 1 {
		return nil, nil
	}
	if wallet.IsPayLink(h.line.args[0]) {
		return c.begin(c.send(ctx, h))
	}
	if _, err := wallet.ParseAddress(h.line.args[0]); err != nil {
		return nil, nil
	}
	return c.begin(c.transfer(ctx, h, idle, parts{To: h.line.args[0]}, nil))
}

// evaluatedDraft is what came of what a person has said of a transfer so far.
type evaluatedDraft struct {
	trigger  Trigger
	parts    parts
	refusal  error    // why something is asked again, or refused for good
	amounts  []string // to choose from, for a question
	proposal handlers.Proposal
	token    wallet.Token
}

// send answers /send, with any of its parts missing.
func (c *Chat) send(ctx context.Context, h Inbound) (Action, error) {
	known, err := c.book(ctx, h)
	if err != nil {
		return nil, err
	}
	p, err := readParts(h.line.args, known)
	if err != nil && wallet.FieldOf(err) == "" {
		return func(s *replyTx) error {
			if err := s.refused(err); err != nil {
				return err
			}
			return s.replyUsage("send")
		}, nil
	}
	return c.transfer(ctx, h, idle, p, err)
}

// hearAmount takes the answer to "how much".
func (c *Chat) hearAmount(ctx context.Context, h Inbound, args []string) (Action, error) {
	known, err := c.book(ctx, h)
	if err != nil {
		return nil, err
	}
	got, err := readParts(args, known)
	if wallet.FieldOf(err) == "" && (err != nil || got.Amount == "" && got.To == "") {
		got, err = parts{}, wallet.Refuse(wallet.InvalidRequest, "input.amount")
	}
	return c.transfer(ctx, h, h.at(sendFlow), copyOf[payment](h.data).parts.with(got), err)
}

// hearAddress takes the answer to "to whom".
func (c *Chat) hearAddress(ctx context.Context, h Inbound, args []string) (Action, error) {
	known, err := c.book(ctx, h)
	if err != nil {
		return nil, err
	}
	got, err := readParts(args, known)
	if wallet.FieldOf(err) == "" && (err != nil || got.To == "") {
		got, err = parts{To: strings.Join(args, " ")}, nil // judged as an address, it is told what is wrong
		if got.To == "" {
			err = wallet.Refuse(wallet.InvalidRequest, "input.address")
		}
	}
	return c.transfer(ctx, h, h.at(sendFlow), copyOf[payment](h.data).parts.with(got), err)
}

// hearToken takes the answer to "which token": a symbol or a mint.
func (c *Chat) hearToken(ctx context.Context, h Inbound, args []string) (Action, error) {
	p := copyOf[payment](h.data).parts
	p.Token = strings.Join(args, " ")
	if p.Token == "" {
		return c.transfer(ctx, h, asksToken, copyOf[payment](h.data).parts, wallet.About(wallet.FieldToken,
			wallet.Refuse(wallet.InvalidRequest, "input.mint")))
	}
	return c.transfer(ctx, h, asksToken, p, nil)
}

// with puts newer words in the place of older ones.
func (p parts) with(newer parts) parts {
	if newer.Amount != "" {
		p.Amount = newer.Amount // of the same token, unless another one is named
	}
	if newer.Token != "" {
		p.Token = newer.Token
	}
	if newer.To != "" {
		p.To, p.Asked, p.Label = newer.To, newer.Asked, newer.Label
	}
	if newer.Memo != "" {
		p.Memo = newer.Memo
	}
	return p
}

// transfer goes on with a transfer as far as its parts allow; at is the question that was answered,
// idle for none. unread is what the words were refused for, if they were: the part that it is about
// is asked for, whatever was said of it before.
func (c *Chat) transfer(ctx context.Context, h Inbound, at State, p parts, unread error) (Action, error) {
	p.drop(wallet.FieldOf(unread))
	w, err := c.weigh(ctx, h, at, p)
	if err != nil {
		return nil, err
	}
	if w.refusal == nil {
		w.refusal = unread
	}
	return w.action, nil
}

// drop forgets one part.
func (p *parts) drop(field wallet.Field) {
	switch field {
	case wallet.FieldAmount:
		p.Amount = ""
	case wallet.FieldTo:
		if p.Asked != "" { // the link's
			p.Memo = ""
		}
		p.To, p.Asked, p.Label = "", "", ""
	case wallet.FieldToken:
		p.Token = ""
	}
}

// action takes the transition for what was found.
func (w evaluatedDraft) action(s *replyTx) error {
	s.found, s.refusal, dataOf[payment](s).parts = w, w.refusal, w.parts
	return s.transition(sendFlow, w.trigger)
}

// weigh finds out what is missing, wrong, or possible. Only a breakdown is an error.
func (c *Chat) weigh(ctx context.Context, h Inbound, at State, p parts) (evaluatedDraft, error) {
	refused := func(err error) (evaluatedDraft, error) {
		if !labelled(err) {
			return evaluatedDraft{}, err
		}
		return evaluatedDraft{trigger: impossible, refusal: err}, nil
	}
	// What needs no node comes first: a stranger's words must not cost one.
	from, err := c.Wallets.Default(ctx, h.user.ID)
	if err != nil {
		return refused(err)
	}
	var badTo error
	if p.To != "" {
		badTo = checkAddress(p.To)
		if badTo == nil {
			badTo = c.noContact(ctx, h, p.To)
		}
		if badTo == nil {
			_, badTo = c.Transfers.Destination(p.To, from.Address)
		}
	}
	if badTo != nil && !labelled(badTo) {
		return evaluatedDraft{}, badTo
	}
	if mint, ok := c.unlisted(p.Token); ok && badTo != nil {
		w := evaluatedDraft{trigger: addressMissing, refusal: badTo, parts: p, token: wallet.Token{Mint: mint}}
		w.parts.To = ""
		return w, nil
	} else if ok {
		if err := c.mayAsk(h); err != nil {
			return evaluatedDraft{}, err
		}
	}
	token, err := c.Transfers.Token(ctx, p.Token)
	if wallet.CodeOf(err) == wallet.TokenNotFound || at == asksToken && labelled(err) {
		return evaluatedDraft{trigger: tokenMissing, refusal: err, parts: p}, nil
	}
	if err != nil {
		return refused(err)
	}
	w := evaluatedDraft{parts: p, token: token}
	if badTo != nil {
		w.refusal, w.parts.To = badTo, ""
	}
	if p.Amount != "" {
		if err := checkAmount(p.Amount, token); err != nil {
			w.refusal, w.parts.Amount = err, ""
			if w.amounts = meantAmounts(p.Amount, token); len(w.amounts) > 0 {
				w.refusal = wallet.About(wallet.FieldAmount, didYouMean(w.amounts))
			}
		}
	}
	if w.parts.Amount != "" && w.parts.To != "" {
		if err := c.mayAsk(h); err != nil {
			return evaluatedDraft{}, err
		}
		w.proposal, err = c.Transfers.Prepare(ctx, h.caller(), handlers.SendRequest{
			From: from.Address, To: w.parts.To, Amount: w.parts.Amount, Token: w.parts.Token,
			Memo: w.parts.Memo, Label: w.parts.Label, References: w.parts.references(),
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
	if len(w.amounts) == 0 && (w.trigger == amountMissing || at == idle) { // who has nothing to send is told before being asked
		if c.mayAsk(h) != nil {
			return w, nil
		}
		w.amounts, err = c.choices(ctx, from.Address, token)
		if wallet.CodeOf(err) == wallet.InsufficientFunds || err != nil && !labelled(err) {
			return refused(err)
		}
	}
	return w, nil // a network that does not answer, or may not be asked, only leaves the question without proposals
}

// unlisted tells whether a token is named by a mint that only a node knows.
func (c *Chat) unlisted(name string) (wallet.Address, bool) {
	mint, err := wallet.ParseAddress(name)
	if err != nil {
		return mint, false
	}
	_, listed := c.Transfers.Tokens.ByMint(mint)
	return mint, !listed
}

// asksOn tells whether a refused transfer is worth another question: for the part that the refusal
// is about, or the same once more when the network does not answer in the midst of a conversation.
func (w *evaluatedDraft) asksOn(at State, err error) bool {
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
func (c *Chat) choices(ctx context.Context, from wallet.Address, token wallet.Token) ([]string, error) {
	balance, err := c.Wallets.Balance(ctx, from)
	if err != nil {
		return nil, err
	}
	free, err := sendable(balance, token)
	if err != nil {
		return nil, err
	}
	var round []string
	usual, texts := usualAmounts(token)
	for i, text := range texts {
		amount, err := wallet.ParseAmount(text, token.Decimals)
		// The usual small amounts come first; a large balance does not push them out.
		if err == nil && amount.Units <= free && (i < usual || len(round) < 3) {
			round = append(round, amount.String())
		}
	}
	return append(round[max(0, len(round)-3):], wallet.Max), nil
}

// usualAmounts are round sums from small to large; the first so many are usual.
func usualAmounts(token wallet.Token) (usual int, texts []string) {
	if token.Native() {
		return 5, []string{"0.01", "0.05", "0.1", "0.5", "1", "5", "10", "50", "100"}
	}
	return 5, []string{"1", "5", "10", "25", "100", "500", "1000", "10000"}
}

// sendable is how many base units of a token a balance lets go, or the refusal of every amount.
func sendable(b handlers.Balance, token wallet.Token) (uint64, error) {
	if token.Native() {
		if b.Lamports > b.Reserved {
			return b.Lamports - b.Reserved, nil // what the fee takes of it, the network says of an amount
		}
		return 0, handlers.NoneToSend(token)
	}
	for _, held := range b.Tokens {
		if held.Token.Mint == token.Mint && held.Free() > 0 {
			return held.Free(), nil
		}
	}
	return 0, handlers.NoneToSend(token)
}

// askAmount asks how much, with amounts to tap on.
func (s *replyTx) askAmount() error {
	if err := s.newQuestion(); err != nil {
		return err
	}
	var rows [][]Button
	var row []Button
	for _, amount := range s.draft().amounts {
		b, err := s.button(html(amount), "amount:"+amount, s.question.Ask, s.conv.ExpiresAt)
		if err != nil {
			return err
		}
		row = append(row, b)
	}
	if len(row) > 0 {
		rows = append(rows, row)
	}
	v := vars{"To": html(""), "Name": "", "Token": tokenText(s.draft().token)}
	if said := dataOf[payment](s).To; said != "" {
		v["To"] = code(said)
		if to, err := wallet.ParseAddress(said); err == nil {
			if v["Name"], err = s.nameOf(to); err != nil {
				return err
			}
		}
	}
	return s.ask("send.ask_amount", v, rows)
}

// tokenText is a token in a sentence: its symbol, or the whole mint of one that is on no list.
func tokenText(token wallet.Token) html {
	if token.Symbol == "" {
		return code(token.Mint.String())
	}
	return html(escape(token.Symbol))
}

// askToken asks for the mint of a token that is on no list.
func (s *replyTx) askToken() error {
	if err := s.newQuestion(); err != nil {
		return err
	}
	return s.ask("send.ask_token", vars{}, nil)
}

// askAddress asks where to, with those to tap on who were paid before, and contacts.
func (s *replyTx) askAddress() error {
	if err := s.newQuestion(); err != nil {
		return err
	}
	known, err := s.recipients()
	if err != nil {
		return err
	}
	var rows [][]Button
	for _, to := range known {
		b, err := s.button(to.label(), "to:"+to.address.String(), s.question.Ask, s.conv.ExpiresAt)
		if err != nil {
			return err
		}
		rows = append(rows, []Button{b})
	}
	people, err := s.ours("button.people", "people", s.question.Ask, s.conv.ExpiresAt)
	if err != nil {
		return err
	}
	rows = append(rows, []Button{people})
	amount := dataOf[payment](s).Amount
	v := vars{"Amount": amount, "Max": strings.EqualFold(amount, wallet.Max), "Known": len(known) > 0,
		"Contacts": slices.ContainsFunc(known, func(r recipient) bool { return r.name != "" }), "Token": tokenText(s.draft().token)}
	return s.ask("send.ask_address", v, rows)
}
