package sandbox

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path/filepath"

	"purser/sandbox/shop"
	"purser/sandbox/solana"
	"purser/sandbox/telegram"
)

// openShop opens the shop and funds its address with what a kept cluster has not given it before. With SOL and USDC
// accounts in place, a customer who pays the shop does not also have to pay rent for creating them.
func (w *World) openShop() (telegram.Shop, error) {
	ctx := context.Background() // the airdrop only queues a transaction, so nothing waits here
	// A kept cluster has the accounts already, and a second airdrop would change the balances of a user's chain. The two
	// are judged apart: the program may have been killed between them.
	if w.Solana.Balance(shop.Address()) == 0 {
		if _, err := w.Solana.Airdrop(ctx, shop.Address(), 1_000_000_000); err != nil {
			return nil, fmt.Errorf("sandbox: the shop's SOL: %w", err)
		}
	}
	if w.Solana.TokenBalance(shop.Address(), solana.USDC) == 0 {
		if _, err := w.Solana.AirdropToken(ctx, shop.Address(), solana.USDC, 1_000_000); err != nil {
			return nil, fmt.Errorf("sandbox: the shop's USDC: %w", err)
		}
	}
	return storefront{shop.New(shop.Options{RPCURL: w.RPCURL(), Rand: rand.Reader, USDC: w.Solana.Mint(solana.USDC)})}, nil
}

// storefront adapts shop.Shop to telegram.Shop, because neither package may import the other.
type storefront struct{ shop *shop.Shop }

func (f storefront) Items() []telegram.Item {
	var out []telegram.Item
	for _, i := range shop.Items() {
		out = append(out, telegram.Item{ID: i.ID, Name: i.Name, Price: i.Amount + " " + i.Token})
	}
	return out
}

func (f storefront) Order(item string) (reference, link string, err error) {
	o, err := f.shop.Order(item)
	return o.Reference, o.Link, known(err)
}

func (f storefront) Paid(ctx context.Context, reference string) (bool, error) {
	paid, err := f.shop.Paid(ctx, reference)
	return paid, known(err)
}

// known translates the shop's "unknown item or order" into the chat page's error, which the page answers with 404.
// Other errors pass through unchanged.
func known(err error) error {
	if errors.Is(err, shop.ErrUnknown) {
		return telegram.ErrNoOrder
	}
	return err
}

// openOwnBot makes the second bot, which a developer's own program can run. Nothing answers its chat until then. Its
// state lies in a folder of its own inside telegramDir; an empty telegramDir keeps nothing. url is the address of its
// Bot API.
func openOwnBot(o Options, telegramDir, url string) (*telegram.Server, error) {
	dir := ""
	if telegramDir != "" {
		dir = filepath.Join(telegramDir, "own")
	}
	return telegram.Open(telegram.Options{Now: o.Now, Dir: dir, Unlimited: o.Unlimited,
		Token: OwnBotToken, BotName: "Your own bot", BotUsername: "your_own_bot",
		Hint:  "This bot is yours to program. Point any Telegram library at this Bot API:\n\n" + url + "\n\nToken:\n" + OwnBotToken,
		Other: &telegram.OtherBot{Name: "purser", Path: "/"}})
}
