package chat

import "purser/wallet"

// dollars says what something is worth: "about $221.52". It is "" for nothing, and if nobody knows.
func (s *replyTx) dollars(worth wallet.Worth) (html, error) {
	const cent = 10_000 // in millionths of a dollar
	switch {
	case worth.Unknown || worth.USD == 0:
		return "", nil
	case worth.USD < cent:
		return s.words.text("dollars.less", nil)
	}
	return s.words.text("dollars.about", vars{"Sum": worth.Cents()})
}

// worth says what an amount is worth at the price that is known: "about $221.52". It is "" for an unlisted token, to which
// anybody can give any price, and if no price is known.
func (s *replyTx) worth(token wallet.Token, units uint64) (html, error) {
	if token.Symbol == "" {
		return "", nil
	}
	prices, err := s.tx.Prices([]wallet.Address{token.Mint})
	if err != nil {
		return "", err
	}
	return s.dollars(wallet.WorthOf(prices[token.Mint], token.Amount(units), s.now))
}
