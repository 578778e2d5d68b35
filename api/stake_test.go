package api

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"purser/handlers"
	"purser/wallet"
)

// stakes posts a step of staking of Alice's wallet; fields come behind the address.
func (r *harness) stakes(secret, fields string, headers ...string) answer {
	r.Helper()
	body := fmt.Sprintf(`{"address":%q%s}`, r.alice.Address(), fields)
	return r.do("POST", "/v1/stake", body, append([]string{"Authorization", "Bearer " + secret, "Content-Type", "application/json"}, headers...)...)
}

// carriesOut is the person's Confirm of a proposed step and their device's signature.
func (r *harness) carriesOut(a answer) wallet.Transaction {
	r.Helper()
	if a.status != 202 {
		r.Fatalf("%d %s", a.status, a.body)
	}
	t, err := r.World.Confirm(r.alice.Caller(), wallet.TransactionID(a.text("data", "transaction_id")))
	r.Must(err)
	_, err = r.HandIn(r.alice.Person, t.SignID, r.Issue(t.SignID))
	r.Must(err)
	if t = r.Settled(t.ID); t.Status != wallet.Confirmed {
		r.Fatalf("it ended as %s %s", t.Status, t.ErrorCode)
	}
	return t
}

// nextEpoch lets the epoch end, and its rewards be paid.
func (r *harness) nextEpoch() {
	r.Helper()
	_, err := r.Cluster.NextEpoch()
	r.Must(err)
	for range 10 {
		r.Blocks(1)
		e, err := r.World.Chain.StakeEpoch(context.Background())
		if r.Must(err); !e.Paying && e.Epoch > 0 {
			return
		}
	}
	r.Fatal("the rewards are not paid")
}

// position is the only position of Alice's wallet, without its times.
func (r *harness) position() (state, staked, balance, withdrawable string) {
	r.Helper()
	a := r.get("/v1/stake/positions?address="+r.alice.Address().String(), r.alice.secret)
	wantEnvelope(r, a)
	list, _ := a.field("data", "positions").([]any)
	if a.status != 200 || len(list) != 1 {
		r.Fatalf("%d %s", a.status, a.body)
	}
	one := list[0].(map[string]any)
	if changing := one["state"] == "activating" || one["state"] == "deactivating"; changing == (one["changes_at"] == "") || one["hold"] != "" {
		r.Errorf("of its changes it is told %v", one)
	}
	return one["state"].(string), one["staked"].(string), one["balance"].(string), one["withdrawable"].(string)
}

// TestTheLifeOfAStakeByAPI from the list of validators to the withdrawal: each step asks the person, and shows in the positions.
func TestTheLifeOfAStakeByAPI(t *testing.T) {
	r := newHarness(t)
	a := r.get("/v1/stake/validators", r.alice.secret)
	wantEnvelope(t, a)
	list := a.field("data", "validators").([]any)
	ranked, err := r.Stakes.Validators(context.Background())
	if r.Must(err); len(list) != len(ranked) {
		t.Fatalf("%d of %d validators: %s", len(list), len(ranked), a.body)
	}
	for i, v := range ranked {
		want := map[string]any{"validator_address": v.Vote.String(), "name": v.Name, "commission_bps": float64(v.Commission), "staked": wallet.Lamports(v.Stake).String(),
			"delinquent": v.Delinquent, "superminority": v.Superminority}
		if got := fmt.Sprint(list[i]); got != fmt.Sprint(want) || v.Name == "" {
			t.Errorf("validator %d is %s, want %v", i, got, want)
		}
	}

	empty := r.get("/v1/stake/positions?address="+r.alice.Address().String(), r.alice.secret)
	if empty.status != 200 || !strings.Contains(string(empty.body), `"positions":[]`) || empty.field("data", "epoch") != 0.0 || empty.text("data", "epoch_ends_at") == "" {
		t.Errorf("before: %s", empty.body)
	}
	second := ranked[1].Vote
	proposed := r.stakes(r.alice.secret, fmt.Sprintf(`,"action":"delegate","amount":"2","validator_address":%q`, second))
	r.want(proposed, 202, "", "")
	if proposed.text("data", "status") != "awaiting_confirmation" || proposed.text("data", "recipient") != second.String() {
		t.Errorf("proposed: %s", proposed.body)
	}
	staked := r.carriesOut(proposed)
	record := r.get("/v1/wallet/transactions/"+string(staked.ID), r.alice.secret)
	if record.text("data", "type") != "stake" || record.text("data", "amount") != "2" || record.text("data", "rent") != wallet.Lamports(staked.Rent).String() {
		t.Errorf("its record: %s", record.body)
	}
	whole := wallet.Lamports(2*sol + staked.Rent).String()
	expect := func(when string, want ...string) {
		t.Helper()
		state, of, balance, withdrawable := r.position()
		if got := []string{state, of, balance, withdrawable}; fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s it is %v, want %v", when, got, want)
		}
	}
	expect("delegated", "activating", "2", whole, "0")
	r.nextEpoch()
	expect("in the next epoch", "active", "2", whole, "0")
	one := r.stakes(r.alice.secret, fmt.Sprintf(`,"action":"undelegate","stake_account":%q`, staked.NewStakeAccount()))
	if undelegated := r.carriesOut(one); undelegated.Amount != 2*sol || undelegated.StakeTerms().Split {
		t.Errorf("undelegated: %+v", undelegated)
	}
	expect("undelegated", "deactivating", "2", whole, "0")
	r.want(r.stakes(r.alice.secret, `,"action":"withdraw"`), 400, wallet.InvalidRequest, "nothing to withdraw")
	r.nextEpoch()
	state, of, balance, withdrawable := r.position()
	if state != "inactive" || of != "0" || balance != withdrawable || balance < whole {
		t.Errorf("cooled down it is %s %s %s %s", state, of, balance, withdrawable)
	}
	part := r.carriesOut(r.stakes(r.alice.secret, fmt.Sprintf(`,"action":"withdraw","amount":0.5,"stake_account":%q`, staked.NewStakeAccount())))
	if part.Amount != sol/2 || part.To != r.alice.Address() {
		t.Errorf("withdrawn: %+v", part)
	}
	r.carriesOut(r.stakes(r.alice.secret, `,"action":"withdraw"`))
	if left := r.get("/v1/stake/positions?address="+r.alice.Address().String(), r.alice.secret); !strings.Contains(string(left.body), `"positions":[]`) {
		t.Errorf("afterwards: %s", left.body)
	}
}

// TestStakeRequestsAreReadStrictly: what could mean something else is refused, and nothing is proposed.
func TestStakeRequestsAreReadStrictly(t *testing.T) {
	r := newHarness(t)
	vote := r.bob.Address().String()
	for fields, says := range map[string]string{
		``:                                             "action",
		`,"action":7`:                                  "action",
		`,"action":"stake"`:                            "delegate, undelegate, withdraw",
		`,"action":"Delegate"`:                         "delegate, undelegate, withdraw",
		`,"action":"delegate"`:                         "amount is missing",
		`,"action":"delegate","amount":"all"`:          "amount",
		`,"action":"delegate","amount":"-2"`:           "amount",
		`,"action":"delegate","amount":"0"`:            "",
		`,"action":"delegate","amount":"0.9"`:          "at least",
		`,"action":"delegate","amount":"1.0000000001"`: "amount",
		`,"action":"undelegate","amount":null`:         "amount",
		`,"action":"delegate","amount":"1","stake_account":"` + vote + `"`:     "stake_account isn't known",
		`,"action":"undelegate","validator_address":"` + vote + `"`:            "validator_address isn't known",
		`,"action":"withdraw","validator_address":"` + vote + `"`:              "validator_address isn't known",
		`,"action":"delegate","amount":"1","validator_address":"x"`:            "validator_address",
		`,"action":"delegate","amount":"1","validator_address":"` + vote + `"`: "validator",
		`,"action":"undelegate","stake_account":""`:                            "stake_account",
		`,"action":"undelegate","stake_account":"` + vote + `"`:                "stake",
		`,"action":"undelegate"`:                                               "stake",
		`,"action":"withdraw"`:                                                 "withdraw",
		`,"action":"withdraw","to":"` + vote + `"`:                             "to isn't known",
		`,"action":"delegate","amount":"1","token":"SOL"`:                      "token isn't known",
		`,"action":"delegate","action":"withdraw","amount":"1"`:                "",
	} {
		r.want(r.stakes(r.alice.secret, fields), 400, wallet.InvalidRequest, says)
	}
	r.want(r.stakes(r.alice.secret, `,"action":"delegate","amount":"10"`), 422, wallet.InsufficientFunds, "deposit")
	if n := r.transactions(); n != 0 {
		t.Errorf("%d transactions were made", n)
	}
	for query, says := range map[string]string{"": "address is missing", "?address=": "address is missing", "?address=x": "address", "?address=" + vote + "&x=1": "x isn't known"} {
		r.want(r.get("/v1/stake/positions"+query, r.alice.secret), 400, wallet.InvalidRequest, says)
	}
	r.want(r.get("/v1/stake/validators?page=2", r.alice.secret), 400, wallet.InvalidRequest, "page isn't known")
}

// TestAStakeIsProposedOnceForItsKey: the same Idempotency-Key never proposes a second one.
func TestAStakeIsProposedOnceForItsKey(t *testing.T) {
	r := newHarness(t)
	const step = `,"action":"delegate","amount":"1"`
	first := r.stakes(r.alice.secret, step, "Idempotency-Key", "stake-1")
	again := r.stakes(r.alice.secret, step, "Idempotency-Key", "stake-1")
	if events := r.Events(wallet.TransactionID(first.text("data", "transaction_id"))); len(events) != 1 || events[0] != wallet.TransactionProposed {
		t.Errorf("its owner is not asked: %v", events)
	}
	if first.status != 202 || string(first.body) != string(again.body) || r.transactions() != 1 {
		t.Errorf("%d %s\n%d %s, %d transactions", first.status, first.body, again.status, again.body, r.transactions())
	}
	if a := r.stakes(r.alice.secret, `,"action":"delegate","amount":"2"`, "Idempotency-Key", "stake-1"); a.status < 400 || r.transactions() != 1 {
		t.Errorf("another step with the same key: %d %s", a.status, a.body)
	}
}

// TestRewardsByAPI are those that the operation finds, in the words of the API.
func TestRewardsByAPI(t *testing.T) {
	r := newHarness(t)
	path := "/v1/stake/rewards?address=" + r.alice.Address().String()
	none := r.get(path, r.alice.secret)
	r.want(none, 200, "", "")
	if want := `"first_epoch":null,"last_epoch":null,"waiting":false,"pruned":false,"total":"0","not_staked":"0","apy_bps":0,"rewards":[]}`; !strings.Contains(string(none.body), want) {
		t.Errorf("without a stake: %s", none.body)
	}
	staked := r.carriesOut(r.stakes(r.alice.secret, `,"action":"delegate","amount":"2"`))
	for range 8 {
		r.nextEpoch()
		r.Blocks(40)
	}
	r.Fund(staked.NewStakeAccount(), 5_000)
	earned, err := r.Stakes.Rewards(context.Background(), r.alice.Address(), 5)
	if r.Must(err); earned.First != 3 || earned.Last != 7 || len(earned.All) != 5 {
		t.Fatalf("it earned %+v", earned)
	}
	a := r.get(path, r.alice.secret)
	r.want(a, 200, "", "")
	if a.text("data", "address") != r.alice.Address().String() || a.field("data", "first_epoch") != 3.0 || a.field("data", "last_epoch") != 7.0 || a.field("data", "waiting") != false ||
		a.text("data", "total") != wallet.Lamports(earned.Total).String() || a.text("data", "not_staked") != "0.000005" || a.field("data", "apy_bps") != float64(earned.Yield) || earned.Yield == 0 {
		t.Errorf("read: %s", a.body)
	}
	list := a.field("data", "rewards").([]any)
	for i, one := range earned.All {
		want := map[string]any{"epoch": float64(one.Epoch), "stake_account": staked.NewStakeAccount().String(), "validator_address": staked.To.String(), "validator_name": staked.StakeTerms().ValidatorName,
			"amount": wallet.Lamports(one.Lamports).String(), "balance": wallet.Lamports(one.Balance).String(), "commission_bps": float64(one.Commission)}
		if i >= len(list) || fmt.Sprint(list[i]) != fmt.Sprint(want) {
			t.Errorf("reward %d is %v, want %v", i, list, want)
		}
	}
	for epochs, n := range map[string]int{"1": 1, "10": 7} {
		if got := r.get(path+"&epochs="+epochs, r.alice.secret); len(got.field("data", "rewards").([]any)) != n {
			t.Errorf("of %s epochs: %s", epochs, got.body)
		}
	}
	for _, epochs := range []string{"0", "11", "-1", "x", "1.5", "18446744073709551616"} {
		r.want(r.get(path+"&epochs="+epochs, r.alice.secret), 400, wallet.InvalidRequest, "epochs must be 1 to 10")
	}
	for query, says := range map[string]string{"": "address is missing", "?address=x": "address", "?epoch=1": "epoch isn't known"} {
		r.want(r.get("/v1/stake/rewards"+query, r.alice.secret), 400, wallet.InvalidRequest, says)
	}
	r.Stakes.Chain = forgetful{r.Stakes.Chain, map[uint64]error{7: wallet.ErrRewardsNotPaid, 5: wallet.ErrHistoryPruned}}
	some := r.get(path, r.alice.secret)
	if some.field("data", "first_epoch") != 6.0 || some.field("data", "last_epoch") != 6.0 || some.field("data", "waiting") != true || some.field("data", "pruned") != true {
		t.Errorf("of a node that knows little: %s", some.body)
	}
	if list := some.field("data", "rewards").([]any); len(list) != 1 || list[0].(map[string]any)["commission_bps"] != nil {
		t.Errorf("of a node that knows little: %s", some.body)
	}
}

// forgetful is a chain that does not know the rewards of all epochs, nor commissions.
type forgetful struct {
	handlers.StakeChain
	fails map[uint64]error
}

func (f forgetful) StakeRewards(ctx context.Context, accounts []wallet.Address, epoch uint64) ([]*wallet.InflationReward, error) {
	if err := f.fails[epoch]; err != nil {
		return nil, err
	}
	all, err := f.StakeChain.StakeRewards(ctx, accounts, epoch)
	for _, one := range all {
		if one != nil {
			one.Commission = wallet.UnknownCommission
		}
	}
	return all, err
}

// TestStakingNeedsItsScope: who may only read proposes nothing, and who may only propose reads nothing.
func TestStakingNeedsItsScope(t *testing.T) {
	r := newHarness(t)
	keyFor := func(scope wallet.Scope) string {
		return r.newKey(handlers.KeyRequest{Kind: wallet.APIKey, Tier: wallet.FreeTier, Scopes: []wallet.Scope{scope}, OwnerTelegramID: r.alice.User.TelegramID})
	}
	reads, sends := keyFor(wallet.WalletRead), keyFor(wallet.WalletSend)
	r.want(r.stakes(reads, `,"action":"delegate","amount":"1"`), 403, wallet.InsufficientScope, "wallet:send")
	r.want(r.stakes(sends, `,"action":"delegate","amount":"1"`), 202, "", "")
	for _, path := range []string{"/v1/stake/positions?address=" + r.alice.Address().String(), "/v1/stake/rewards?address=" + r.alice.Address().String(), "/v1/stake/validators"} {
		r.want(r.get(path, sends), 403, wallet.InsufficientScope, "wallet:read")
		r.want(r.get(path, reads), 200, "", "")
	}
}

// TestTheListOfValidatorsEnds at a hundred. Others can be named all the same.
func TestTheListOfValidatorsEnds(t *testing.T) {
	r := newHarness(t)
	best, err := r.Stakes.Validators(context.Background())
	r.Must(err)
	worst := best[0]
	worst.Commission, worst.Stake = 10_000, 0
	many := []wallet.Validator{worst, {Vote: r.Stranger(), Stake: 1_000_000 * sol}} // the superminority comes last
	for range maxValidators {
		many = append(many, wallet.Validator{Vote: r.Stranger(), Stake: sol})
	}
	r.Stakes.Chain = validatorsOf{r.Stakes.Chain, many}
	a := r.get("/v1/stake/validators", r.alice.secret)
	if list := a.field("data", "validators").([]any); len(list) != maxValidators || strings.Contains(string(a.body), worst.Vote.String()) {
		t.Errorf("%d are listed", len(list))
	}
	if a := r.stakes(r.alice.secret, fmt.Sprintf(`,"action":"delegate","amount":"1","validator_address":%q`, worst.Vote)); a.status != 202 {
		t.Errorf("one behind the list: %d %s", a.status, a.body)
	}
}

// validatorsOf is a chain with other validators.
type validatorsOf struct {
	handlers.StakeChain
	all []wallet.Validator
}

func (v validatorsOf) Validators(context.Context) ([]wallet.Validator, error) { return v.all, nil }
