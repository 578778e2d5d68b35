package api

import (
	"time"

	"purser/store"
	"purser/wallet"
)

// limited sets Alice's spending limits.
func limited(policy func(*scene) wallet.Policy, then func(*scene)) func(*scene) {
	return func(s *scene) {
		then(s)
		s.put(func(tx store.Tx) error {
			_, err := s.Policies.Change(tx, s.alice.User.ID, s.alice.Address(), policy(s))
			return err
		})
	}
}

func limitScenarios() []scenario {
	usdc := func(s *scene, dollars uint64) []wallet.TokenLimit {
		return []wallet.TokenLimit{{Mint: s.usdc().Mint, Units: dollars * 1_000_000}}
	}
	payment := func(s *scene) wallet.Policy { return wallet.Policy{Payment: usdc(s, 5)} }
	day := func(s *scene) wallet.Policy { return wallet.Policy{Day: usdc(s, 8)} }
	wait := func(*scene) wallet.Policy { return wallet.Policy{NewRecipientWait: 24 * time.Hour} }
	only := func(s *scene) wallet.Policy { return wallet.Policy{Recipients: &[]wallet.Address{s.bob.Address()}} }
	return []scenario{
		{name: "as much as one payment may", setUp: usual(limited(payment, same))},
		{name: "more than one payment may", setUp: usual(limited(payment, amount("5.000001"))), chat: "limit_payment:refuse"},
		{name: "a token without a limit", setUp: usual(limited(payment, func(s *scene) { s.amount, s.token = "5.1", "SOL" }))},
		{name: "as much as a day may", setUp: usual(limited(day, func(s *scene) { s.paid(s.to, "3", "USDC", time.Hour) }))},
		{name: "more than a day may", setUp: usual(limited(day, func(s *scene) { s.paid(s.to, "3.000001", "USDC", time.Hour) })), chat: "limit_day:refuse"},
		{name: "more than a day may, with yesterday", setUp: usual(limited(day, func(s *scene) { s.paid(s.to, "8", "USDC", 24*time.Hour) }))},
		{name: "a recipient of the list", setUp: limited(only, func(s *scene) { s.to = s.bob.Address(); s.paid(s.to, "1", "SOL", time.Hour) })},
		{name: "a contact that is not on the list", setUp: friend(limited(only, same)), chat: "limit_recipients:refuse"},
		{name: "a new recipient of a careful wallet", setUp: limited(wait, same), chat: "limit_new_recipient:delay"},
		{name: "a contact of a careful wallet", setUp: friend(limited(wait, same)), chat: "limit_new_recipient:delay"},
		{name: "somebody whom a careful wallet paid before", setUp: usual(limited(wait, same))},
	}
}
