// Package storetest has the suites that every implementation of the store's contracts must pass:
//
//   - Run, for a store.Store
//   - RunEngine, for an engine.Engine
//   - RunLog, for a store.DeliveryLog
//   - RunPriceHistory, for a store.PriceHistory
//
// Each part of a suite opens stores of its own, in a folder of its own, through the function that it is given. It
// checks only what the contract promises, and knows nothing about how an engine does it. Besides the tests of single
// verbs there are random ones: a model in maps is compared with the store (model.go, jobmodel.go), and nodes are paused
// and killed (nodes.go).
package storetest

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	"purser/store"
)

// Open opens the store in a folder, or creates it if the folder is empty. The suite closes it, and may open the same
// folder again.
//
// The Store also has the method Beside() store.Store: a further Store over the same database, as another node has it. See
// Beside.
type Open func(t testing.TB, folder string) store.Store

// Run runs the suite for a store. Each part has stores of its own.
func Run(t *testing.T, open Open) {
	for _, part := range []struct {
		name string
		run  func(*testing.T, Open)
	}{
		{"Users", testUsers},
		{"Erase", testErase},
		{"Wallets", testWallets},
		{"Watches", testWatches},
		{"WatchOrders", testWatchOrders},
		{"Summaries", testSummaries},
		{"StakeChecks", testStakeChecks},
		{"WatchedStakes", testWatchedStakes},
		{"NotifyOwner", testNotifyOwner},
		{"Prices", testPrices},
		{"Rates", testRates},
		{"News", testNews},
		{"NewsIsNotRepeated", testNewsOnce},
		{"NewsOfTwoNodes", testNewsOfTwoNodes},
		{"NewsExpires", testNewsExpiry},
		{"NewsFeeds", testNewsFeeds},
		{"Alerts", testAlerts},
		{"AlertsAreFoundByLevel", testAlertsByLevel},
		{"SecurityLog", testSecurityLog},
		{"SecurityLogIsBounded", testSecurityLogBound},
		{"SecurityLogOfTwoNodes", testSecurityLogOfTwoNodes},
		{"Seen", testSeen},
		{"AskedPrices", testAskedPrices},
		{"News", testNews},
		{"NewsReaders", testNewsReaders},
		{"PortfolioSummaries", testPortfolioSummaries},
		{"HeldMints", testHeldMints},
		{"Binds", testBinds},
		{"Transactions", testTransactions},
		{"TransactionIndexes", testTransactionIndexes},
		{"TransactionLists", testTransactionLists},
		{"Recipients", testRecipients},
		{"Contacts", testContacts},
		{"Conversations", testConversations},
		{"ConversationTimeouts", testTimeouts},
		{"Buttons", testButtons},
		{"Cards", testCards},
		{"SendResults", testSendResults},
		{"NoteUpdate", testNoteUpdate},
		{"Replies", testReplies},
		{"Events", testEvents},
		{"Idempotency", testIdempotency},
		{"Jobs", testJobs},
		{"JobOrder", testJobOrder},
		{"JobFairness", testJobFairness},
		{"JobStarvation", testJobStarvation},
		{"JobLeases", testJobLeases},
		{"JobExpiredLeases", testJobExpiredLeases},
		{"ReplacedJobs", testReplacedJobs},
		{"LostJobs", testLostJobs},
		{"YieldedJobs", testYieldedJobs},
		{"YieldsOfNodes", testYieldsOfNodes},
		{"SecondLives", testSecondLives},
		{"DeliveryJobs", testDeliveryJobs},
		{"JobHandOver", testJobHandOver},
		{"JobClock", testJobClock},
		{"SkewedClocks", testSkewedClocks},
		{"LateClaims", testLateClaims},
		{"MadeIDs", testMadeIDs},
		{"JobModel", testJobModel},
		{"DeadLetters", testDeadLetters},
		{"DeadEvents", testDeadEvents},
		{"ErasedJobs", testErasedJobs},
		{"Leaders", testLeaders},
		{"Heartbeats", testHeartbeats},
		{"ReleaseNode", testReleaseNode},
		{"Nodes", testNodes},
		{"Keys", testKeys},
		{"PortalTokens", testPortalTokens},
		{"SwapQuotes", testSwapQuotes},
		{"FreezeLinks", testFreezeLinks},
		{"Policies", testPolicies},
		{"PolicyLinks", testPolicyLinks},
		{"OutgoingFrom", testOutgoingFrom},
		{"PlantedSenders", testPlantedSenders},
		{"PortalTokenBounds", testPortalTokenBounds},
		{"Apps", testApps},
		{"Counters", testCounters},
		{"Webhooks", testWebhooks},
		{"OutboxEvents", testOutboxEvents},
		{"OtherNodes", testOtherNodes},
		{"Deliveries", testDeliveries},
		{"DeliveryLines", testDeliveryLines},
		{"DeliveriesOfAGoneWebhook", testGoneWebhook},
		{"DeliveriesAboutTheErased", testErasedDeliveries},
		{"Late", testLate},
		{"Sweep", testSweep},
		{"Sweeper", testSweeper},
		{"Proposals", testProposals},
		{"EveryField", testEveryField},
		{"Rollback", testRollback},
		{"Panic", testPanic},
		{"FailNow", testGoexit},
		{"BatchMates", testBatchMates},
		{"NothingIsLost", testNothingIsLost},
		{"Snapshot", testSnapshot},
		{"ViewDoesNotWrite", testViewDoesNotWrite},
		{"Context", testContext},
		{"Changed", testChanged},
		{"Close", testClose},
		{"Reopen", testReopen},
		{"Model", testModel},
	} {
		t.Run(part.name, func(t *testing.T) { part.run(t, open) })
	}
}

// noon is the suite's now.
func noon() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 123456789, time.UTC) }

// fresh opens a new store, which the test's end closes.
func fresh(t *testing.T, open Open) store.Store {
	t.Helper()
	s := open(t, t.TempDir())
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

func update(t *testing.T, s store.Store, change func(store.Tx) error) {
	t.Helper()
	if err := s.Update(t.Context(), change); err != nil {
		t.Fatalf("update: %v", err)
	}
}

func view(t *testing.T, s store.Store, read func(store.Tx) error) {
	t.Helper()
	if err := s.View(t.Context(), read); err != nil {
		t.Fatalf("view: %v", err)
	}
}

// refuses checks that an Update ends in an error of the given kind.
func refuses(t *testing.T, s store.Store, want error, change func(store.Tx) error) {
	t.Helper()
	if err := s.Update(t.Context(), change); !errors.Is(err, want) {
		t.Fatalf("update: got %v, want %v", err, want)
	}
}

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%s:\n got %+v\nwant %+v", what, got, want)
	}
}

// absent checks that a read finds nothing.
func absent(t *testing.T, s store.Store, what string, read func(store.Tx) error) {
	t.Helper()
	if err := s.View(t.Context(), read); !errors.Is(err, store.ErrNotFound) {
		t.Fatalf("%s: got %v, want ErrNotFound", what, err)
	}
}

// get reads one row.
func get[T any](t *testing.T, s store.Store, read func(store.Tx) (T, error)) T {
	t.Helper()
	var out T
	view(t, s, func(tx store.Tx) (err error) {
		out, err = read(tx)
		return err
	})
	return out
}

// within is how long the suite waits for what must come, on a machine that has much else to do.
const within = 2 * time.Minute

func receive[T any](t *testing.T, what string, from <-chan T) T {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	select {
	case v := <-from:
		return v
	case <-ctx.Done():
		t.Fatalf("%s: nothing came", what)
		panic("unreachable")
	}
}
