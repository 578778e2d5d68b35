package chat

import (
	"context"
	"slices"
	"strings"

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
			movedOn:        {idle, (*replyTx).sayCancelled},
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
	to, err := wallet.ParseAddress(h.line.args[0])
	if err != nil {
		return nil, nil
	}
	return c.begin(c.transfer(ctx, h, idle, parts{To: address(to)}, nil))
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
	if wallet.FieldOf(err) == "" && (err != nil || !got.Amount.given() && !got.To.given()) {
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
	if wallet.FieldOf(err) == "" && (err != nil || !got.To.given()) {
		if words := strings.Join(args, " "); words != "" {
			got, err = parts{To: known.recipient(words)}, nil // judged as an address, it is told what is wrong
		} else {
			got, err = parts{}, wallet.Refuse(wallet.InvalidRequest, "input.address")
		}
	}
	return c.transfer(ctx, h, h.at(sendFlow), copyOf[payment](h.data).parts.with(got), err)
}

// hearToken takes the answer to "which token": a symbol or a mint.
func (c *Chat) hearToken(ctx context.Context, h Inbound, args []string) (Action, error) {
	p := copyOf[payment](h.data).parts
	words := strings.Join(args, " ")
	if words == "" {
		return c.transfer(ctx, h, asksToken, p, wallet.About(wallet.FieldToken, wallet.Refuse(wallet.InvalidRequest, "input.mint")))
	}
	token, err := wallet.ParseTokenRef(words)
	p.Token = token
	return c.transfer(ctx, h, asksToken, p, err)
}

// askAmount asks how much, with amounts to tap on.
func (s *replyTx) askAmount() error {
	if err := s.newQuestion(); err != nil {
		return err
	}
	var rows [][]Button
	var row []Button
	for _, amount := range s.draft().amounts {
		b, err := s.button(html(amount.String()), "amount:"+amount.String(), s.question.Ask, s.conv.ExpiresAt)
		if err != nil {
			return err
		}
		row = append(row, b)
	}
	if len(row) > 0 {
		rows = append(rows, row)
	}
	v := vars{"To": html(""), "Name": "", "Token": tokenText(s.draft().token)}
	if to := dataOf[payment](s).To.Address; !to.IsZero() {
		v["To"] = code(to.String())
		var err error
		if v["Name"], err = s.nameOf(to); err != nil {
			return err
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
	amount := dataOf[payment](s).Amount.Quantity
	v := vars{"Amount": amount.String(), "Max": amount.Max, "Known": len(known) > 0,
		"Contacts": slices.ContainsFunc(known, func(r recipient) bool { return r.name != "" }), "Token": tokenText(s.draft().token)}
	return s.ask("send.ask_address", v, rows)
}
