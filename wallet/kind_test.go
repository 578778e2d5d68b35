package wallet

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestAKindThatLacksAPartIsRefused: a binary never starts with half a kind.
func TestAKindThatLacksAPartIsRefused(t *testing.T) {
	for lacks, change := range map[string]func(*Rules){
		"name":                    func(r *Rules) { r.Kind = "" },
		"life":                    func(r *Rules) { r.Life = "" },
		"actions":                 func(r *Rules) { r.Actions = nil },
		"what it spends":          func(r *Rules) { r.Spends = nil },
		"what it writes":          func(r *Rules) { r.Writes = nil },
		"a signer for its action": func(r *Rules) { r.Life, r.Pays, r.Spends = Awaited, false, nil },
		"a signer to pay":         func(r *Rules) { r.Life, r.Actions, r.Spends = Incoming, nil, nil },
		"a signer to spend":       func(r *Rules) { r.Life, r.Actions, r.Pays = Incoming, nil, false },
	} {
		rules := SendRules()
		change(&rules)
		if _, err := NewKinds(rules); err == nil {
			t.Errorf("a kind without %s is taken", lacks)
		}
	}
	if _, err := NewKinds(SendRules(), SendRules()); err == nil {
		t.Error("one kind is taken twice")
	}
	for kind, typ := range map[Kind]EntryType{Send: "send", Receive: "receive", Request: "receive"} {
		if rules, err := builtInKinds().Of(kind); err != nil || rules.Type != typ {
			t.Errorf("programs see a %s as %q, %v", kind, rules.Type, err)
		}
	}
	if names := builtInKinds().Names(); !slices.Equal(names, []Kind{Receive, Request, Send}) {
		t.Errorf("there are %v", names)
	}
}

// TestAnUnknownKindIsNeverJudged: neither the zero Kinds nor those of today do anything with a row of tomorrow.
func TestAnUnknownKindIsNeverJudged(t *testing.T) {
	row := Transaction{ID: "tx_1", Kind: "tomorrow", Status: Pending}
	for name, kinds := range map[string]Kinds{"none": {}, "today's": builtInKinds()} {
		after, events, err := kinds.Apply(row, TransitionInput{By: Landed, Landing: &Landing{}})
		if !errors.Is(err, ErrUnknownKind) || after.Status != Pending || events != nil {
			t.Errorf("%s: %v, %v, %v", name, after.Status, events, err)
		}
		if _, err := kinds.Query(row); !errors.Is(err, ErrUnknownKind) {
			t.Errorf("%s: it may be looked for: %v", name, err)
		}
	}
}

// TestAKindLivesItsOwnLife: a receipt never changes, a request is paid or runs out, and neither is signed here.
func TestAKindLivesItsOwnLife(t *testing.T) {
	steps := map[Kind]int{}
	for _, rules := range []Rules{SendRules(), ReceiveRules(), RequestRules()} {
		for _, step := range Lifecycle() {
			_, _, err := rules.Apply(Transaction{ID: "tx_1", Kind: rules.Kind, Status: step.From, Token: SOL}, TransitionInput{By: step.By, Landing: &Landing{}})
			if err == nil {
				steps[rules.Kind]++
			} else if CodeOf(err) != Conflict || ReasonOf(err).IsZero() {
				t.Errorf("%s, %s by %s: %v", rules.Kind, step.From, step.By, err)
			}
		}
	}
	// A request that ran out is Expired, as a send may be; but nobody signed it, so nothing is found on chain.
	want := map[Kind]int{Send: len(Lifecycle()) - 2, Request: 2}
	if steps[Send] != want[Send] || steps[Receive] != 0 || steps[Request] != want[Request] {
		t.Errorf("steps by kind: %v, want %v", steps, want)
	}
}

// TestAStepOfAKindAnnouncesItsOwnEventToo, after those of every kind, under an id of its own.
func TestAStepOfAKindAnnouncesItsOwnEventToo(t *testing.T) {
	at := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	rules := SendRules()
	rules.Kind, rules.Type = "stake", "stake"
	rules.Announces = func(t Transaction, by Trigger) (Announcement, bool) {
		return Announcement{StakeDelegated, StakeDelegatedData{Amount: t.Money().String()}}, by == Finalized || by == Landed
	}
	landed := Transaction{ID: "tx_1", Kind: "stake", Status: Signed, Token: SOL, Amount: 5, Owner: "usr_1"}
	confirmed, events, err := rules.Apply(landed, TransitionInput{By: Landed, At: at, Landing: &Landing{}})
	if err != nil || len(events) != 3 || !strings.Contains(string(events[1].Data), `"type":"stake"`) || !slices.Contains(confirmed.EventIDs(), events[2].ID) {
		t.Fatalf("landed: %v, %v", events, err)
	}
	final, events, err := rules.Apply(confirmed, TransitionInput{By: Finalized, At: at, Landing: &Landing{}})
	if err != nil || len(events) != 2 || events[0].Name != TransactionFinalized || events[1].Name != StakeDelegated {
		t.Fatalf("finalized: %v, %v", events, err)
	}
	var data StakeDelegatedData
	if err := json.Unmarshal(events[1].Data, &data); err != nil || data.Amount != "0.000000005" || events[1].Transaction != "tx_1" || events[1].User != "usr_1" {
		t.Errorf("%+v, %v", events[1], err)
	}
	if events[0].ID == events[1].ID || !slices.Contains(final.EventIDs(), events[1].ID) {
		t.Errorf("the event's id is %s, those that may be are %v", events[1].ID, final.EventIDs())
	}
}

// TestWhatATransferSpends: SOL with its fee, of a token the deposit too, and never what it does not move.
func TestWhatATransferSpends(t *testing.T) {
	usdc := Token{Symbol: "USDC", Mint: Address{7}, Decimals: 6, Program: TokenProgram}
	for name, c := range map[string]struct {
		of   Transaction
		want Spending
	}{
		"SOL":               {Transaction{Token: SOL, Amount: 7, Fee: 5_000}, Spending{Lamports: 5_007}},
		"a token":           {Transaction{Token: usdc, Amount: 7, Fee: 5_000}, Spending{Lamports: 5_000, Mint: usdc.Mint, Units: 7}},
		"its first account": {Transaction{Token: usdc, Amount: 7, Fee: 5_000, Rent: 2_000}, Spending{Lamports: 7_000, Mint: usdc.Mint, Units: 7}},
	} {
		if got := SendRules().Spends(c.of); got != c.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestALandingTellsWhatTheRecipientsAccountCost, of tokens alone, and only where the node tells it.
func TestALandingTellsWhatTheRecipientsAccountCost(t *testing.T) {
	usdc := Token{Symbol: "USDC", Mint: Address{7}, Decimals: 6, Program: TokenProgram}
	for name, c := range map[string]struct {
		token   Token
		landing Landing
		rent    uint64
	}{
		"made by the sender":       {usdc, Landing{Fee: 5_000, Spent: 2_005_000}, 2_000_000},
		"made by somebody else":    {usdc, Landing{Fee: 5_000, Spent: 5_000}, 0},
		"the node does not tell":   {usdc, Landing{}, 9},
		"of SOL it is the amount":  {SOL, Landing{Fee: 5_000, Spent: 2_005_000}, 9},
		"less spent than its fee?": {usdc, Landing{Fee: 5_000, Spent: 1}, 9},
	} {
		after, _, err := SendRules().Apply(Transaction{Kind: Send, Status: Pending, Token: c.token, Rent: 9}, TransitionInput{By: Landed, Landing: &c.landing})
		if err != nil || after.Rent != c.rent {
			t.Errorf("%s: rent %d, %v", name, after.Rent, err)
		}
	}
}

// TestOnlyWhatPaysReachesSomebody: a landing that was called off before, and a kind that pays nobody, do not.
func TestOnlyWhatPaysReachesSomebody(t *testing.T) {
	at := time.Unix(1_000, 0)
	pays, pending := Transaction{Status: Confirmed, ConfirmedAt: at}, Transaction{Status: Pending}
	calledOff := Transaction{Status: Confirmed, ConfirmedAt: at, EndedAt: at.Add(-time.Second)}
	memo := SendRules()
	memo.Pays = false
	if r := SendRules(); !r.Reached(pays) || r.Reached(pending) || r.Reached(calledOff) || memo.Reached(pays) {
		t.Error("the wrong ones reach somebody")
	}
}

// TestInWhoseHistoryATransactionStands: of what is sent the sender's, of all else the recipient's.
func TestInWhoseHistoryATransactionStands(t *testing.T) {
	row := Transaction{From: Address{1}, To: Address{2}}
	if SendRules().WalletOf(row) != row.From || ReceiveRules().WalletOf(row) != row.To || RequestRules().WalletOf(row) != row.To {
		t.Error("a transaction stands in another's history")
	}
}

// TestOnlyWhatIsAwaitedAwaits, until somebody paid it or nobody can any more.
func TestOnlyWhatIsAwaitedAwaits(t *testing.T) {
	for _, c := range []struct {
		rules Rules
		row   Transaction
		want  bool
	}{
		{RequestRules(), Transaction{Status: Requested}, true},
		{RequestRules(), Transaction{Status: Received, Closed: true}, false},
		{RequestRules(), Transaction{Status: Expired, Closed: true}, false},
		{SendRules(), Transaction{Status: AwaitingSignature}, false},
		{ReceiveRules(), Transaction{Status: Received, Closed: true}, false},
	} {
		if got := c.rules.Awaits(c.row); got != c.want {
			t.Errorf("%s, %s: %v", c.rules.Kind, c.row.Status, got)
		}
	}
}
