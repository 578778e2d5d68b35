package chat

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"purser/handlers"
	"purser/store"
	"purser/wallet"
)

// Options are what a Chat talks with.
type Options struct {
	Store     store.Store
	Users     *handlers.Users
	Wallets   *handlers.Wallets
	Transfers *handlers.Transfers
	Contacts  *handlers.Contacts
	// Developers have access to the API, Apps are what people allow theirs.
	Developers *handlers.Developers
	Apps       *handlers.Apps
	Portal     *handlers.Portal
	// Receives tells whether a person lets an app be told of events, and whether a webhook of it takes them now.
	Receives func(tx store.Tx, app wallet.AppID, person wallet.UserID, name wallet.EventName) (granted, listening bool, err error)
	// PublicURL is where the signing page lives: its links end up in people's own chats only.
	PublicURL *url.URL
	PagesURL  *url.URL // where the portal of webhooks is
	DocsURL   *url.URL // where the API is described; nil: nowhere
	// Hourly is how many requests an hour a key of a kind has by its tier; nil: it is not told.
	Hourly func(wallet.KeyKind, wallet.Tier) uint64
	// ExplorerURL makes links of signatures: {signature} is put in, and {cluster} by the name that
	// Solana's explorers use (mainnet-beta, devnet, custom). Without {signature} it is a base, and
	// /tx/<signature> is added. Empty: no links.
	ExplorerURL string
	Cluster     string        // mainnet, devnet or localnet
	BotName     func() string // the bot's username without @; "" while unknown
	Now         func() time.Time
	After       func(time.Duration) <-chan time.Time // wakes Run; nil: time.After
	Random      io.Reader
	Log         *slog.Logger
	Lookups     int // that one person has at once; 0: Lookups
}

// Chat answers what people say and tap. What it must remember is in the store; by itself it holds only how
// often people had a node asked lately. It is safe for use by several goroutines.
type Chat struct {
	Options
	words   catalogue
	secrets Secrets
	flows   map[string]Flow
	table   []command
	budget  *budget
}

// New checks the options and reads the catalogue.
func New(o Options) (*Chat, error) {
	if o.Store == nil || o.Users == nil || o.Wallets == nil || o.Transfers == nil || o.Contacts == nil ||
		o.Developers == nil || o.Apps == nil || o.Portal == nil || o.Receives == nil || o.PublicURL == nil || o.PagesURL == nil || o.Now == nil || o.Random == nil || o.Log == nil {
		return nil, errors.New("chat: Store, Users, Wallets, Transfers, Contacts, Developers, Apps, Portal, Receives, PublicURL, PagesURL, Now, Random and Log are needed")
	}
	if o.ExplorerURL != "" {
		if u, err := url.Parse(o.ExplorerURL); err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
			return nil, fmt.Errorf("chat: %q is no http(s) address of an explorer", o.ExplorerURL)
		}
	}
	if o.BotName == nil {
		o.BotName = func() string { return "" }
	}
	if o.After == nil {
		o.After = time.After
	}
	words, err := newCatalogue()
	if err != nil {
		return nil, err
	}
	return &Chat{Options: o, words: words, secrets: NewSecrets(), flows: flows(), table: commands(), budget: newBudget(cmp.Or(o.Lookups, Lookups))}, nil
}

// inbound is an Input with what the store knew when it came.
type inbound struct {
	Input
	line   line
	user   wallet.User        // zero for somebody new
	conv   store.Conversation // the zero row, with its version, when there is none
	silent bool               // the conversation's time is over, and nobody has said so yet
	topic  topic
	button store.Button // of a tap; zero when its nonce is unknown
	author wallet.AppID // whose message it replies to (Reply.Author); "" for nobody's
	app    *AppCommand  // an app that runs this for the person; nil: they themselves
}

// caller is the person as handlers know them.
func (h inbound) caller() handlers.Caller { return handlers.Caller{User: h.user.ID} }

// at is where the conversation stands in a flow.
func (h inbound) at(flow string) State {
	if h.silent || h.conv.Flow != flow || h.conv.State == "" {
		return idle
	}
	return State(h.conv.State)
}

// topic is what a conversation is about: its Data.
type topic struct {
	parts
	Ask         string               `json:"ask,omitempty"`   // the last question: its card, and its buttons' subject
	Asked       html                 `json:"asked,omitempty"` // its text
	Transaction wallet.TransactionID `json:"transaction,omitempty"`
	Bind        string               `json:"bind,omitempty"`   // nonce of the link
	People      int32                `json:"people,omitempty"` // the list of people that is open: Keyboard.Request
	Access      access               `json:"access,omitzero"`  // of /api
	Naming      namedContact         `json:"naming,omitzero"`  // of a contact that gets a name
}

// Action is what an Input leads to once everything slow is done: it runs inside the store transaction,
// perhaps more than once.
type Action func(*replyTx) error

// Handle finds the answer to one Input. Whatever is slow happens here, with no store transaction
// open; the Turn's Commit writes the rest at once. A refusal is an answer; an error means that
// nothing was decided, and the Input is worth another try.
func (c *Chat) Handle(ctx context.Context, in Input) (Turn, error) {
	if in.From.IsBot || in.From.TelegramID == 0 {
		return nothing(), nil
	}
	if in.Secret == NoSecret { // of an update that was taken in before fronts looked for secrets
		in.Secret = c.secrets.In(in.Text)
	}
	if in.Secret != NoSecret {
		in.Text = ""
	}
	h, err := c.hear(ctx, in)
	if err != nil {
		return Turn{}, fmt.Errorf("read the conversation: %w", err)
	}
	action, err := c.answer(ctx, h)
	var often *tooOften
	if errors.As(err, &often) {
		action, err = often.slowDown(h), nil
	}
	if err != nil {
		return Turn{}, err
	}
	if action == nil {
		return nothing(), nil
	}
	return Turn{Commit: func(tx store.Tx) error { return c.play(tx, h, action) }}, nil
}

// nothing is the turn of what purser does not answer.
func nothing() Turn { return Turn{Commit: func(store.Tx) error { return nil }} }

// hear reads what the store knows of the speaker.
func (c *Chat) hear(ctx context.Context, in Input) (inbound, error) {
	h := inbound{Input: in, line: c.asMeant(read(in.Text))}
	err := c.Store.View(ctx, func(tx store.Tx) error {
		var err error
		if h.user, err = tx.UserByTelegram(in.From.TelegramID); err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		if h.conv, err = tx.Conversation(in.Chat, in.From.TelegramID, ""); err != nil {
			return err
		}
		h.conv.Chat, h.conv.User = in.Chat, in.From.TelegramID
		if h.author, err = c.authorOf(tx, in); err != nil {
			return err
		}
		if in.Tap == nil || !nonceLike(in.Tap.Data) {
			return nil
		}
		if h.button, err = tx.Button(in.Tap.Data); errors.Is(err, store.ErrNotFound) {
			h.button = store.Button{}
			return nil
		}
		return err
	})
	if err != nil {
		return h, err
	}
	h.topic = c.open(&h.conv)
	h.silent = h.conv.State != "" && !h.conv.ExpiresAt.IsZero() && !c.Now().Before(h.conv.ExpiresAt)
	return h, nil
}

// open reads a conversation's topic. One that this version does not understand begins anew: a
// conversation may be forgotten, no money hangs on it.
func (c *Chat) open(conv *store.Conversation) topic {
	var t topic
	if _, ok := c.flows[conv.Flow][State(conv.State)]; !ok || json.Unmarshal(conv.Data, &t) != nil {
		conv.Flow, conv.State, conv.Data = "", "", nil
		return topic{}
	}
	return t
}

// answer decides, in the order in which it matters.
func (c *Chat) answer(ctx context.Context, h inbound) (Action, error) {
	switch {
	case h.Secret != NoSecret:
		return (*replyTx).takeAwaySecret, nil
	case h.Tap != nil:
		return c.tapped(ctx, h)
	case h.line.command != "" && !h.Forwarded && !h.Edited:
		return c.command(ctx, h)
	case !h.Private:
		return nil, nil // a group's own talk is none of ours
	case h.Forwarded:
		return reply("talk.forwarded", nil), nil
	case h.Edited:
		if h.line.command == "" && h.at(sendFlow) == idle && h.at(apiFlow) == idle {
			return nil, nil
		}
		return reply("talk.edited", nil), nil
	case h.Contact != nil:
		return c.hearContact(h), nil
	case h.Picked != nil:
		return c.hearPicked(ctx, h)
	}
	return c.onText(ctx, h)
}

// onText answers plain text in a private chat.
func (c *Chat) onText(ctx context.Context, h inbound) (Action, error) {
	if id, ok := c.appLink(h.Text); ok {
		return c.begin(askConsent(id, false), nil)
	}
	if h.author != "" && h.Text != "" { // to an app, whatever I have asked
		return (*replyTx).answerApp, nil
	}
	if action, err := c.hearTyped(ctx, h); action != nil || err != nil {
		return action, err
	}
	if h.at(contactFlow) == naming {
		return c.hearName(h), nil
	}
	if action, err := c.hearDeveloper(ctx, h); action != nil || err != nil {
		return action, err
	}
	switch h.at(sendFlow) {
	case asksAmount:
		return c.hearAmount(ctx, h, h.line.args)
	case asksAddress:
		return c.hearAddress(ctx, h, h.line.args)
	case asksToken:
		return c.hearToken(ctx, h, h.line.args)
	case inReview:
		return c.hearInReview(ctx, h)
	case signing:
		return reply("talk.use_buttons", nil), nil
	}
	if len(h.line.args) == 0 {
		if strings.TrimSpace(h.Text) == "/" {
			return reply("talk.stray", nil), nil
		}
		return reply("talk.text_only", nil), nil
	}
	if len(h.line.args) == 1 && wallet.IsPayLink(h.line.args[0]) {
		return c.begin(c.send(ctx, h))
	}
	if len(h.line.args) == 1 {
		if _, err := wallet.ParseAddress(h.line.args[0]); err == nil {
			return c.begin(c.transfer(ctx, h, idle, parts{To: h.line.args[0]}, nil))
		}
	}
	if to, ok := meant()[strings.ToLower(h.line.args[0])]; ok {
		return unhandled(c.offer("/" + to)), nil
	}
	if meant := near(strings.ToLower(h.line.args[0]), c.names()); len(meant) > 0 {
		return unhandled(reply("talk.did_you_mean", vars{"Commands": slashes(meant)})), nil
	}
	if c.known(strings.ToLower(h.line.args[0])) {
		return unhandled(reply("talk.did_you_mean", vars{"Commands": "/" + strings.ToLower(h.line.args[0])})), nil
	}
	return unhandled(reply("talk.stray", nil)), nil
}

// offer proposes a command that was meant, by a button that runs it.
func (c *Chat) offer(command string) Action {
	return func(s *replyTx) error {
		b, err := s.button(html(escape(command)), "run:"+command, "menu", s.now.Add(menuLife))
		if err != nil {
			return err
		}
		return s.reply("talk.did_you_mean", vars{"Commands": command}, []Button{b})
	}
}

// begin leaves what was being asked before something new begins.
func (c *Chat) begin(next Action, err error) (Action, error) {
	if err != nil {
		return nil, err
	}
	return func(s *replyTx) error {
		if err := s.leave(); err != nil {
			return err
		}
		return next(s)
	}, nil
}

// refuse makes the answer of a refusal, and passes breakdowns on.
func refuse(err error) (Action, error) {
	if !labelled(err) {
		return nil, err
	}
	return func(s *replyTx) error { return s.refused(err) }, nil
}

// reply is an action of one text.
func reply(key string, v vars) Action {
	return func(s *replyTx) error { return s.reply(key, v) }
}

// TooMany is what a person is told when they send faster than they can be answered.
func (c *Chat) TooMany() []Reply {
	text, err := c.words.text("talk.too_many", nil)
	if err != nil { // a test keeps the catalogue whole
		return nil
	}
	return []Reply{{Kind: Message, Text: string(text)}}
}

// Apology is what a person is told when an Input could not be handled at all.
func (c *Chat) Apology(in Input) []Reply {
	if in.Tap == nil && (!in.Private || in.Edited || in.From.IsBot) {
		return nil
	}
	text, err := c.words.text("talk.apology", nil)
	if err != nil { // a test keeps the catalogue whole
		return nil
	}
	replies := []Reply{{Kind: Message, Text: string(text)}}
	if in.Tap != nil {
		toast, err := c.words.text("toast.apology", nil)
		if err != nil {
			return replies
		}
		replies = append([]Reply{{Kind: Toast, CallbackID: in.Tap.CallbackID, Text: plain(toast)}}, replies...)
	}
	return replies
}
