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

// States and triggers of /send.
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
	delayed        Trigger = "Confirm, has to wait"
	signed         Trigger = "signed"
)

// payment is the data of the /send conversation. After review has begun only Transaction is set: from then on the stored
// transaction alone says what is paid, and the conversation only follows it.
type payment struct {
	parts
	Transaction wallet.TransactionID `json:"transaction,omitempty"`
	People      int32                `json:"people,omitempty"` // Keyboard.Request of the open list of people; 0 for none
}

// sendConversation is /send. It collects the parts of a transfer, proposes it, and shows a card that waits for Confirm. Later
// steps of the transaction reach the chat as events.
func sendConversation() conversation {
	return conversation{
		name: sendFlow,
		commands: []command{{name: "send", menu: "menu.send", usage: "usage.send", run: (*Chat).send, app: (*Chat).sendForApp, begins: true,
			aliases: map[string]string{"pay": "", "transfer": "", "tip": "", "withdraw": ""}}},
		flow: sendTable(), version: 1, data: func() any { return new(payment) },
		texts: map[State]Handler{
			asksAmount:  typedAnswer((*Chat).receiveAmount),
			asksAddress: typedAnswer((*Chat).receiveAddress),
			asksToken:   typedAnswer((*Chat).receiveToken),
			inReview:    (*Chat).receiveInReview,
			signing:     func(*Chat, context.Context, Inbound) (Action, error) { return reply("send.use_buttons", nil), nil },
		},
		people: map[State]Handler{asksAddress: (*Chat).receivePicked},
		callbacks: map[string]Callback{
			"amount":    (*Chat).tapAmount,
			"to":        (*Chat).tapAddress,
			"token":     (*Chat).tapToken,
			"people":    (*Chat).tapPeople,
			"sendagain": (*Chat).tapSendAgain,
		},
		follow:    (*replyTx).followPayment,
		review:    map[wallet.Kind]func(*replyTx, handlers.Proposal) error{wallet.Send: (*replyTx).reviewPayment},
		intercept: (*Chat).receivePayment,
		offer:     (*Chat).offerPayment,
	}
}

// sendTable returns the table of /send. Any answer may leave any part missing, so every asking state leads to every other.
// Cancelling in review or before the signature also rejects the transaction. A time-out there does not: settle ends the
// transaction at its own deadline.
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
			timedOut:       {idle, (*replyTx).sayTimedOut},
		}
	}
	// Only the question for an address offers Telegram's list of people.
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
			confirmed: {signing, nil}, // the card already shows the next step
			delayed:   {idle, nil},    // for hours or days; its card has Cancel
			cancelled: {idle, (*replyTx).rejectTransaction},
			movedOn:   {idle, (*replyTx).dropTransaction},
			ended:     {idle, nil},
			timedOut:  {idle, nil}, // the card reports it when the transaction expires
		},
		signing: {
			signed:    {idle, nil},
			cancelled: {idle, (*replyTx).rejectTransaction},
			movedOn:   {idle, nil}, // already confirmed: the payment, its card and its link stay valid
			ended:     {idle, nil},
			timedOut:  {idle, nil},
		},
	}
}

// typedAnswer adapts a handler that takes the words of an answer to a Handler.
func typedAnswer(hear func(*Chat, context.Context, Inbound, []string) (Action, error)) Handler {
	return func(c *Chat, ctx context.Context, h Inbound) (Action, error) { return hear(c, ctx, h, h.line.args) }
}

// receivePayment takes what is a payment whatever question is open: the characters that confirm one (receiveTyped), or a
// payment link. A link is /send with it, so that a person who opens one while a card waits, or while a key is shown, pays that
// link: the open question ends as with every other command. /send's own questions for an amount and a recipient take a link as
// their answer. It returns nil for other text.
func (c *Chat) receivePayment(ctx context.Context, h Inbound) (Action, error) {
	if action, err := c.receiveTyped(ctx, h); action != nil || err != nil {
		return action, err
	}
	if len(h.line.args) != 1 || !wallet.IsPayLink(h.line.args[0]) || h.at(sendFlow) == asksAmount || h.at(sendFlow) == asksAddress {
		return nil, nil
	}
	return c.send(ctx, h)
}

// offerPayment begins a payment from a text that is only an address. To words that are clearly a payment
// without its slash it suggests the command. It returns nil for other text.
func (c *Chat) offerPayment(ctx context.Context, h Inbound) (Action, error) {
	if len(h.line.args) != 1 {
		return c.suggestPayment(ctx, h)
	}
	_, err := wallet.ParseAddress(h.line.args[0])
	if _, _, shortened := shortenedAddress(h.line.args[0]); err != nil && !shortened {
		return nil, nil
	}
	known, err := c.book(ctx, h)
	if err != nil {
		return nil, err
	}
	return c.transfer(ctx, h, idle, parts{To: known.recipient(h.line.args[0])}, nil)
}

// longestSuggestion is the maximum length of a suggested /send in bytes: enough for a mint, an address and a short note.
const longestSuggestion = 200

// suggestPayment suggests the /send that a text like "1.5 SOL bob" or "send 5 to anna" means, with a button that runs it: its
// card still waits for Confirm. It returns nil unless the text has a valid amount and either a listed token, a recipient, or
// the word send before it.
func (c *Chat) suggestPayment(ctx context.Context, h Inbound) (Action, error) {
	words, explicit := h.line.args, false
	first := strings.ToLower(words[0])
	if to := c.registry.aliases[first]; first == "send" || len(to) == 1 && to[0] == "send" {
		words, explicit = words[1:], true
	}
	command := "/send " + strings.Join(words, " ")
	if len(command) > longestSuggestion || !slices.ContainsFunc(words, func(w string) bool { return amountLike(w) || everything(w) }) {
		return nil, nil
	}
	known, err := c.book(ctx, h)
	if err != nil {
		return nil, err
	}
	p, unread := readParts(words, known)
	clear := explicit || p.To.given() && p.To.Wrong.IsZero() || known.means(p.Token.String())
	if unread != nil || p.Amount.Quantity.IsZero() || !clear {
		return nil, nil
	}
	// Not unhandled: like /send, the text may name a contact, so apps don't get it.
	return func(s *replyTx) error {
		b, err := s.catalogueButton("button.prepare", "run:"+command, "menu", s.now.Add(AnswerTimeout))
		if err != nil {
			return err
		}
		return s.reply("send.meant", vars{"Command": code(command)}, []Button{b})
	}, nil
}

// send answers /send. Any part may be missing: it is asked for.
func (c *Chat) send(ctx context.Context, h Inbound) (Action, error) {
	known, err := c.book(ctx, h)
	if err != nil {
		return nil, err
	}
	p, err := readParts(h.line.args, known)
	// The error concerns no single part, so there is no question to ask: explain the syntax.
	if err != nil && wallet.FieldOf(err) == "" {
		return c.begin(func(s *replyTx) error {
			if err := s.refused(err); err != nil {
				return err
			}
			return s.replyUsage("send")
		}, nil)
	}
	return c.transfer(ctx, h, idle, p, err)
}

// receiveAmount takes the answer to the question for an amount. The answer may contain other parts as well, such as a token.
func (c *Chat) receiveAmount(ctx context.Context, h Inbound, args []string) (Action, error) {
	known, err := c.book(ctx, h)
	if err != nil {
		return nil, err
	}
	got, err := readParts(args, known)
	// A word without a meaning is a failed answer to this question. It must not replace the recipient that was given before.
	nobody := got.To.Wrong.Key == noMeaning || got.To.Wrong.Key == "input.contact_meant"
	if wallet.FieldOf(err) == "" && (err != nil || !got.Amount.given() && (!got.To.given() || nobody)) {
		got, err = parts{}, wallet.Refuse(wallet.InvalidRequest, "input.amount")
	}
	p := copyOf[payment](h.data).parts
	// After an amount in dollars, a number alone may mean dollars again. It would be read as SOL, so the token must be named.
	if q := got.Amount.Quantity; p.Currency && got.Token.IsZero() && !q.IsZero() {
		got.Amount = saidAmount{Wrong: wallet.Because("amount.of_what", wallet.TextArg("Amount", q.String()))}
	}
	return c.transfer(ctx, h, h.at(sendFlow), p.with(got), err)
}

// receiveAddress takes the answer to the question for a recipient: an address, a contact's name, or a whole payment link, which
// also replaces the other parts that it names.
func (c *Chat) receiveAddress(ctx context.Context, h Inbound, args []string) (Action, error) {
	known, err := c.book(ctx, h)
	if err != nil {
		return nil, err
	}
	got, err := readParts(args, known)
	if wallet.FieldOf(err) == "" && (err != nil || !got.To.given() || got.To.Wrong.Key == noMeaning) {
		if words := strings.Join(args, " "); words != "" {
			got, err = parts{To: known.recipient(words)}, nil // read it as an address, so that the answer can explain what is wrong with it
		} else {
			got, err = parts{}, wallet.Refuse(wallet.InvalidRequest, "input.address")
		}
	}
	return c.transfer(ctx, h, h.at(sendFlow), copyOf[payment](h.data).parts.with(got), err)
}

// receiveToken takes the answer to the question for a token: a symbol or a mint address.
func (c *Chat) receiveToken(ctx context.Context, h Inbound, args []string) (Action, error) {
	p := copyOf[payment](h.data).parts
	words := strings.Join(args, " ")
	if words == "" {
		return c.transfer(ctx, h, asksToken, p, wallet.About(wallet.FieldToken, wallet.Refuse(wallet.InvalidRequest, "input.mint")))
	}
	token, err := wallet.ParseTokenRef(words)
	p.Token = token
	return c.transfer(ctx, h, asksToken, p, err)
}

// askAmount asks for the amount, with buttons for amounts that the balance allows. The buttons work until the question times
// out, and only while it is the newest question.
func (s *replyTx) askAmount() error {
	if err := s.newQuestion(); err != nil {
		return err
	}
	var rows [][]Button
	var row []Button
	for _, amount := range s.draft().amounts {
		label := html(amount.String())
		if all := s.draft().all; amount.Max && all.Units > 0 {
			label += html(" (" + all.String() + ")")
		}
		b, err := s.button(label, "amount:"+amount.String(), s.question.Ask, s.conv.ExpiresAt)
		if err != nil {
			return err
		}
		row = append(row, b)
	}
	if len(row) > 0 {
		rows = append(rows, row)
	}
	v := vars{"To": html(""), "Name": "", "Token": tokenText(s.draft().token)}
	if dataOf[payment](s).Currency {
		v["Token"] = "" // no default: the answer must name it
	}
	if to := dataOf[payment](s).To.Address; !to.IsZero() {
		v["To"] = code(to.String())
		var err error
		if v["Name"], err = s.nameOf(to); err != nil {
			return err
		}
	}
	return s.ask("send.ask_amount", v, rows)
}

// tokenText returns the token for a sentence: its symbol, or the mint address of an unlisted token.
func tokenText(token wallet.Token) html {
	if token.Symbol == "" {
		return code(token.Mint.String())
	}
	return html(escape(token.Symbol))
}

// askToken asks for the mint address of an unlisted token.
func (s *replyTx) askToken() error {
	if err := s.newQuestion(); err != nil {
		return err
	}
	if choice := s.draft().choice; len(choice.found) > 0 {
		v, rows, err := s.choices(choice, func(label html, mint string) (Button, error) {
			return s.button(label, "token:"+mint, s.question.Ask, s.conv.ExpiresAt)
		})
		if err != nil {
			return err
		}
		return s.ask("which_token.text", v, rows)
	}
	return s.ask("send.ask_token", vars{}, nil)
}

// askAddress asks for the recipient, with buttons for recent recipients, contacts and Telegram's list of people.
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
	people, err := s.catalogueButton("button.people", "people", s.question.Ask, s.conv.ExpiresAt)
	if err != nil {
		return err
	}
	rows = append(rows, []Button{people})
	amount := dataOf[payment](s).Amount.Quantity // zero if the recipient is asked for first
	v := vars{"Amount": amount.String(), "Max": amount.Max, "Known": len(known) > 0,
		"Contacts": slices.ContainsFunc(known, func(r recipient) bool { return r.name != "" }), "Token": tokenText(s.draft().token)}
	return s.ask("send.ask_address", v, rows)
}
