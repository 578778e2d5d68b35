package chat

import (
	"errors"

	"purser/store"
	"purser/wallet"
)

// rate returns what a dollar costs in the person's currency. Without a usable rate it is that of the dollar itself.
func (s *replyTx) rate() (wallet.Rate, error) {
	rate, err := s.tx.Rate(s.user.Settings.Money(), s.now)
	if errors.Is(err, store.ErrNotFound) || err == nil && rate.Stale(s.now) {
		return wallet.OneToOne(s.now), nil
	}
	return rate, err
}

// value says what something is worth, in the person's currency: "about $221.52", "about 191.57 EUR". It is "" for nothing, and if
// nobody knows.
func (s *replyTx) value(worth wallet.Worth) (html, error) {
	if worth.Unknown || worth.USD == 0 {
		return "", nil
	}
	rate, err := s.rate()
	if err != nil {
		return "", err
	}
	sum, ok := rate.Of(worth.USD)
	if !ok {
		return "", nil
	}
	key := "value.about"
	if sum.Least {
		key = "value.less"
	}
	return s.words.text(key, vars{"Sum": sum.Text, "Currency": string(sum.Currency), "Dollars": sum.Currency == wallet.Dollars})
}

// worth says what an amount is worth at the price that is known, as value does. It is "" for an unlisted token, to which
// anybody can give any price, and if no price is known.
func (s *replyTx) worth(token wallet.Token, units uint64) (html, error) {
	if token.Symbol == "" {
		return "", nil
	}
	prices, err := s.tx.Prices([]wallet.Address{token.Mint})
	if err != nil {
		return "", err
	}
	return s.value(wallet.WorthOf(prices[token.Mint], token.Amount(units), s.now))
}

// localDigits is how many significant digits of a converted price are shown.
const localDigits = 6

// localPrice says a price in the person's currency: "128.039 EUR". It is "" for dollars, and without a rate.
func (s *replyTx) localPrice(price wallet.Price) (html, error) {
	rate, err := s.rate()
	if err != nil || rate.Currency == wallet.Dollars {
		return "", err
	}
	local, err := rate.PerDollar.Times(price)
	if err != nil { // beyond what a price can be
		return "", nil
	}
	return html(escape(local.Rounded(localDigits).String() + " " + string(rate.Currency))), nil
}
