package solana

import (
	"encoding/base64"
	"errors"
	"testing"
)

// TestAPlantedApprovalIsOne: the stranger takes as much as was approved and no more, a restart keeps it, and the owner's Revoke ends
// it.
func TestAPlantedApprovalIsOne(t *testing.T) {
	o := Options{Dir: t.TempDir(), Seed: "thief", Now: newClock().now}
	s := serve(t, o)
	alice := addressOf("alice").String()
	if _, err := s.PlantApproval(alice, USDC, 30); !errors.Is(err, ErrNoTokenAccount) {
		t.Errorf("without an account: %v", err)
	}
	s.fund(t, "alice", sol)
	s.giveToken(t, "alice", USDC, 100)
	s.giveToken(t, "bob", USDC, 1)
	account, program, mint := s.account("alice", USDC)
	for name, c := range map[string]struct {
		owner, token string
		units        uint64
	}{"no address": {"alice", USDC, 1}, "no token": {alice, "SOL", 1}, "no amount": {alice, USDC, 0}} {
		if _, err := s.PlantApproval(c.owner, c.token, c.units); err == nil || errors.Is(err, ErrNoTokenAccount) {
			t.Errorf("%s: %v", name, err)
		}
	}
	thief, err := s.PlantApproval(alice, USDC, 30)
	if err != nil || thief != keyOf(s.thief()).String() {
		t.Fatalf("%s: %v", thief, err)
	}
	if _, err := s.Airdrop(t.Context(), thief, sol); err != nil {
		t.Fatal(err)
	}
	delegate := func(commitment string) (by string, units string) {
		t.Helper()
		var shown struct {
			Value struct {
				Data struct {
					Parsed struct {
						Info struct {
							Delegate        string
							DelegatedAmount struct{ Amount string }
						}
					}
				}
			}
		}
		s.must(t, &shown, "getAccountInfo", account.String(), object{"encoding": "jsonParsed", "commitment": commitment})
		info := shown.Value.Data.Parsed.Info
		return info.Delegate, info.DelegatedAmount.Amount
	}
	if by, _ := delegate(processed); by != "" {
		t.Errorf("before the next block %s may spend", by)
	}
	s.advance(t, 1)
	if by, units := delegate(processed); by != thief || units != "30" {
		t.Errorf("%s may spend %s", by, units)
	}
	if by, _ := delegate(finalized); by != "" {
		t.Errorf("as of the finalized block %s may spend", by)
	}
	takes := func(units uint64) string {
		t.Helper()
		h, _ := s.blockhashAt(t, processed)
		to, _ := associatedAddress(addressOf("bob"), program, mint)
		c := transferChecked(program, account, mint, to, keyOf(s.thief()), units, 6)
		metas := []callMeta{{key: account, writable: true}, {key: mint}, {key: to, writable: true}, {key: keyOf(s.thief()), signer: true, writable: true}}
		tx, err := draftTransaction{{c.program, metas, c.data}}.sign(s.thief(), h)
		if err != nil {
			t.Fatal(err)
		}
		return base64.StdEncoding.EncodeToString(tx.Wire)
	}
	s.refused(t, codePreflight, "sendTransaction", takes(31), preflight)
	s.must(t, new(string), "sendTransaction", takes(10), preflight)
	s.advance(t, 1)
	s = reopen(t, s, o)
	if by, units := delegate(processed); by != thief || units != "20" || s.TokenBalance(alice, USDC) != 90 {
		t.Errorf("after a restart %s may spend %s of %d", by, units, s.TokenBalance(alice, USDC))
	}
	// The second approval replaces the first. A restart before the next block has it.
	if _, err := s.PlantApproval(alice, USDC, 7); err != nil {
		t.Fatal(err)
	}
	s = reopen(t, s, o)
	s.advance(t, 1)
	if by, units := delegate(processed); by != thief || units != "7" || s.TotalLamports() != supply {
		t.Errorf("%s may spend %s", by, units)
	}
	h, _ := s.blockhashAt(t, processed)
	text, _ := encode(draft{payer: "alice", blockhash: h, calls: []call{tokenCall(program, []byte{5}, w(account), meta{addressOf("alice"), "s"})}}.bytes())
	s.must(t, new(string), "sendTransaction", text, preflight)
	s.advance(t, 1)
	if by, _ := delegate(processed); by != "" {
		t.Errorf("after Revoke %s may spend", by)
	}
	s.refused(t, codePreflight, "sendTransaction", takes(1), preflight)
	// The token programs refuse Approve of a frozen account, and so does this.
	h, _ = s.blockhashAt(t, processed)
	issuer := callMeta{key: keyOf(s.faucet()), signer: true, writable: true}
	freeze, err := draftTransaction{{program, []callMeta{{key: account, writable: true}, {key: mint}, issuer}, []byte{10}}}.sign(s.faucet(), h)
	if err != nil {
		t.Fatal(err)
	}
	s.must(t, new(string), "sendTransaction", base64.StdEncoding.EncodeToString(freeze.Wire), preflight)
	s.advance(t, 1)
	if _, err := s.PlantApproval(alice, USDC, 7); !errors.Is(err, ErrNoTokenAccount) {
		t.Errorf("of a frozen account: %v", err)
	}
}
