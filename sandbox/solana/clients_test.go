package solana

import (
	"context"
	"encoding/json"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	sdk "github.com/gagliardetto/solana-go"
	"github.com/gagliardetto/solana-go/programs/memo"
	transfers "github.com/gagliardetto/solana-go/programs/system"
	"github.com/gagliardetto/solana-go/rpc"
	"github.com/gagliardetto/solana-go/rpc/jsonrpc"
	"github.com/gagliardetto/solana-go/rpc/ws"
)

// sign builds and signs a transfer with the product's library.
func sign(t *testing.T, client *rpc.Client, from, to string, lamports uint64) *sdk.Transaction {
	t.Helper()
	latest, err := client.GetLatestBlockhash(t.Context(), rpc.CommitmentProcessed)
	if err != nil {
		t.Fatal(err)
	}
	key := sdk.PrivateKey(person(from))
	tx, err := sdk.NewTransaction([]sdk.Instruction{
		transfers.NewTransferInstruction(lamports, key.PublicKey(), sdk.PublicKey(addressOf(to))).Build(),
		memo.NewMemoInstruction([]byte("by solana-go"), key.PublicKey()).Build(),
	}, latest.Value.Blockhash, sdk.TransactionPayer(key.PublicKey()))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Sign(func(sdk.PublicKey) *sdk.PrivateKey { return &key }); err != nil {
		t.Fatal(err)
	}
	return tx
}

func TestSolanaGoSendsAndReads(t *testing.T) {
	s := serve(t, Options{FinalizedLag: 3})
	ctx, client := t.Context(), rpc.New(s.url)
	alice, bob := sdk.PublicKey(addressOf("alice")), sdk.PublicKey(addressOf("bob"))

	if _, err := client.RequestAirdrop(ctx, alice, 10*sol, rpc.CommitmentConfirmed); err != nil {
		t.Fatal(err)
	}
	s.advance(t, 4)
	tx := sign(t, client, "alice", "bob", sol)
	sig, err := client.SendTransactionWithOpts(ctx, tx, rpc.TransactionOpts{PreflightCommitment: rpc.CommitmentProcessed})
	if err != nil {
		t.Fatal(err)
	}
	s.advance(t, 4)

	statuses, err := client.GetSignatureStatuses(ctx, true, sig)
	if err != nil {
		t.Fatal(err)
	}
	if st := statuses.Value[0]; st == nil || st.ConfirmationStatus != rpc.ConfirmationStatusFinalized || st.Err != nil {
		t.Fatalf("%+v", st)
	}
	balance, err := client.GetBalance(ctx, bob, rpc.CommitmentFinalized)
	if err != nil || balance.Value != sol {
		t.Fatalf("%+v %v", balance, err)
	}
	info, err := client.GetAccountInfo(ctx, alice)
	if err != nil || info.Value.Lamports != 9*sol-5000 || !info.Value.Owner.Equals(sdk.SystemProgramID) {
		t.Fatalf("%+v %v", info, err)
	}
	if _, err := client.GetAccountInfo(ctx, sdk.PublicKey(addressOf("nobody"))); !errors.Is(err, rpc.ErrNotFound) {
		t.Errorf("an account that is not there: %v", err)
	}
	zero := uint64(0)
	got, err := client.GetTransaction(ctx, sig, &rpc.GetTransactionOpts{MaxSupportedTransactionVersion: &zero, Encoding: sdk.EncodingBase64})
	if err != nil {
		t.Fatal(err)
	}
	decoded, err := got.Transaction.GetTransaction()
	if err != nil || decoded.Signatures[0] != sig || got.Meta.Fee != 5000 || got.Meta.PostBalances[0] != 9*sol-5000 || got.BlockTime == nil {
		t.Fatalf("%+v %v", got, err)
	}
	if parsed, err := client.GetParsedTransaction(ctx, sig, &rpc.GetParsedTransactionOpts{MaxSupportedTransactionVersion: &zero}); err != nil || len(parsed.Transaction.Message.Instructions) != 2 {
		t.Errorf("%+v %v", parsed, err)
	}
	history, err := client.GetSignaturesForAddress(ctx, bob)
	if err != nil || len(history) != 1 || history[0].Signature != sig || history[0].Memo == nil || *history[0].Memo != "[12] by solana-go" {
		t.Fatalf("%+v %v", history, err)
	}
	if fee, err := client.GetFeeForMessage(ctx, tx.Message.ToBase64(), rpc.CommitmentProcessed); err != nil || *fee.Value != 5000 {
		t.Errorf("%+v %v", fee, err)
	}
	if sim, err := client.SimulateTransactionWithOpts(ctx, sign(t, client, "alice", "bob", 20*sol), &rpc.SimulateTransactionOpts{Commitment: rpc.CommitmentProcessed, SigVerify: true}); err != nil || sim.Value.Err == nil {
		t.Errorf("%+v %v", sim, err)
	}
	for name, call := range map[string]func() error{
		"getHealth":           func() error { _, err := client.GetHealth(ctx); return err },
		"getVersion":          func() error { _, err := client.GetVersion(ctx); return err },
		"getGenesisHash":      func() error { _, err := client.GetGenesisHash(ctx); return err },
		"getSlot":             func() error { _, err := client.GetSlot(ctx, rpc.CommitmentFinalized); return err },
		"getBlockHeight":      func() error { _, err := client.GetBlockHeight(ctx, rpc.CommitmentFinalized); return err },
		"getEpochInfo":        func() error { _, err := client.GetEpochInfo(ctx, rpc.CommitmentFinalized); return err },
		"getFirstAvailable":   func() error { _, err := client.GetFirstAvailableBlock(ctx); return err },
		"getBlockTime":        func() error { _, err := client.GetBlockTime(ctx, 2); return err },
		"getBlocks":           func() error { _, err := client.GetBlocks(ctx, 1, nil, rpc.CommitmentFinalized); return err },
		"getMultipleAccounts": func() error { _, err := client.GetMultipleAccounts(ctx, alice, bob); return err },
		"isBlockhashValid": func() error {
			_, err := client.IsBlockhashValid(ctx, tx.Message.RecentBlockhash, rpc.CommitmentProcessed)
			return err
		},
		"getMinimumBalance": func() error {
			_, err := client.GetMinimumBalanceForRentExemption(ctx, 0, rpc.CommitmentFinalized)
			return err
		},
		"getPrioritizationFee": func() error { _, err := client.GetRecentPrioritizationFees(ctx, sdk.PublicKeySlice{alice}); return err },
		"getTokenAccounts": func() error {
			_, err := client.GetTokenAccountsByOwner(ctx, alice, &rpc.GetTokenAccountsConfig{ProgramId: sdk.TokenProgramID.ToPointer()}, &rpc.GetTokenAccountsOpts{Encoding: sdk.EncodingBase64})
			return err
		},
		"getBlock": func() error {
			_, err := client.GetBlockWithOpts(ctx, got.Slot, &rpc.GetBlockOpts{MaxSupportedTransactionVersion: &zero, Encoding: sdk.EncodingBase64})
			return err
		},
	} {
		if err := call(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSolanaGoReadsErrors(t *testing.T) {
	s := serve(t, Options{})
	s.fund(t, "alice", sol)
	client := rpc.New(s.url)
	_, err := client.SendTransactionWithOpts(t.Context(), sign(t, client, "alice", "bob", 5*sol), rpc.TransactionOpts{PreflightCommitment: rpc.CommitmentProcessed})
	var fault *jsonrpc.RPCError
	if !errors.As(err, &fault) || fault.Code != codePreflight {
		t.Fatalf("%v", err)
	}
	raw, err := json.Marshal(fault.Data)
	if err != nil || !strings.Contains(string(raw), `{"InstructionError":[0,{"Custom":1}]}`) {
		t.Errorf("%s %v", raw, err)
	}
	s.SetFault(func(string, json.RawMessage) Fault { return Fault{Status: 429} })
	if _, err := client.GetSlot(t.Context(), rpc.CommitmentFinalized); !errors.As(err, &fault) || fault.Code != 429 {
		t.Errorf("429: %v", err)
	}
}

// listen opens solana-go's WebSocket client.
func listen(t *testing.T, url string) *ws.Client {
	t.Helper()
	client, err := ws.Connect(t.Context(), "ws"+strings.TrimPrefix(url, "http"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

// subscribed waits until the cluster holds so many subscriptions, as the client's calls return
// before they are answered.
func (s served) subscribed(t *testing.T, n int) {
	t.Helper()
	deadline := time.After(10 * time.Second)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		s.mu.Lock()
		have := 0
		for client := range s.hub.clients {
			have += len(client.subs)
		}
		s.mu.Unlock()
		if have == n {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("%d subscriptions, not %d", have, n)
		}
	}
}

func TestSolanaGoSubscriptions(t *testing.T) {
	s := serve(t, Options{FinalizedLag: 5})
	alone := httptest.NewServer(s.WebSocketHandler())
	t.Cleanup(alone.Close)
	client := rpc.New(s.url)
	s.fund(t, "alice", 10*sol)
	alice := sdk.PublicKey(addressOf("alice"))
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()

	for name, url := range map[string]string{"same port": s.url, "own port": alone.URL} {
		t.Run(name, func(t *testing.T) {
			tx := sign(t, client, "alice", "bob", sol)
			sockets := listen(t, url)
			signed, err := sockets.SignatureSubscribe(tx.Signatures[0], rpc.CommitmentConfirmed)
			if err != nil {
				t.Fatal(err)
			}
			account, err := sockets.AccountSubscribe(alice, rpc.CommitmentProcessed)
			if err != nil {
				t.Fatal(err)
			}
			logs, err := sockets.LogsSubscribeMentions(alice, rpc.CommitmentProcessed)
			if err != nil {
				t.Fatal(err)
			}
			slots, err := sockets.SlotSubscribe()
			if err != nil {
				t.Fatal(err)
			}
			s.subscribed(t, 4)

			if _, err := client.SendTransactionWithOpts(ctx, tx, rpc.TransactionOpts{PreflightCommitment: rpc.CommitmentProcessed}); err != nil {
				t.Fatal(err)
			}
			s.advance(t, 1)
			changed, err := account.Recv(ctx)
			if err != nil || changed.Value.Lamports != s.Balance(alice.String()) {
				t.Fatalf("%+v %v", changed, err)
			}
			logged, err := logs.Recv(ctx)
			if err != nil || logged.Value.Signature != tx.Signatures[0] || logged.Value.Err != nil || len(logged.Value.Logs) < 4 {
				t.Fatalf("%+v %v", logged, err)
			}
			slot, err := slots.Recv(ctx)
			if err != nil || slot.Slot != slotOf(s.Height()) || slot.Parent >= slot.Slot {
				t.Fatalf("%+v %v", slot, err)
			}
			s.advance(t, 1) // confirmed
			done, err := signed.Recv(ctx)
			if err != nil || done.Value.Err != nil {
				t.Fatalf("%+v %v", done, err)
			}
			s.subscribed(t, 3) // that one is over

			late, err := sockets.SignatureSubscribe(tx.Signatures[0], rpc.CommitmentConfirmed)
			if err != nil {
				t.Fatal(err)
			}
			s.subscribed(t, 4)
			s.advance(t, 1) // told with the next block
			if _, err := late.Recv(ctx); err != nil {
				t.Fatal(err)
			}
			logs.Unsubscribe()
			account.Unsubscribe()
			s.subscribed(t, 1)

			s.DropWebSockets()
			for range 5 { // what was queued, then the end
				if _, err = slots.Recv(ctx); err != nil {
					break
				}
			}
			if err == nil || ctx.Err() != nil {
				t.Errorf("the socket lives on: %v", err)
			}
			s.subscribed(t, 0)
			again := listen(t, url)
			if _, err := again.SlotSubscribe(); err != nil {
				t.Fatal(err)
			}
			s.subscribed(t, 1)
			again.Close()
			s.subscribed(t, 0)
		})
	}
}

func TestBadSubscriptionsAreAnswered(t *testing.T) {
	s := serve(t, Options{})
	client := &wsClient{subs: map[uint64]*subscription{}, out: make(chan []byte, 10), cut: func() {}}
	for request, want := range map[string]string{
		`{`: `-32700`,
		`{"jsonrpc":"2.0","id":1,"method":"getSlot"}`:                                           `-32601`,
		`{"jsonrpc":"2.0","id":1,"method":"accountSubscribe","params":["x"]}`:                   `-32602`,
		`{"jsonrpc":"2.0","id":1,"method":"logsSubscribe","params":[{"mentions":[]}]}`:          `-32602`,
		`{"jsonrpc":"2.0","id":1,"method":"logsSubscribe","params":["some"]}`:                   `-32602`,
		`{"jsonrpc":"2.0","id":1,"method":"slotSubscribe","params":{}}`:                         `-32602`,
		`{"jsonrpc":"2.0","id":1,"method":"slotUnsubscribe","params":[77]}`:                     `-32602`,
		`{"jsonrpc":"2.0","id":1,"method":"logsSubscribe","params":["all",{"commitment":"x"}]}`: `-32602`,
	} {
		s.serveSubscription(client, []byte(request))
		if got := string(<-client.out); !strings.Contains(got, want) {
			t.Errorf("%s answered %s", request, got)
		}
	}
	if len(client.subs) != 0 {
		t.Errorf("%d subscriptions", len(client.subs))
	}
}
