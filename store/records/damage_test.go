package records

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	bbolt "go.etcd.io/bbolt"

	"purser/store"
	"purser/store/storetest"
	"purser/wallet"
)

// TestADamagedDeliveryIsNotThere for whoever asks for it by its id, and the operator hears of it once.
func TestADamagedDeliveryIsNotThere(t *testing.T) {
	for what, how := range storetest.WaysOfDamage() {
		path := three(t)
		key, _ := inFile(t, path, deliveryRows, 1, how)
		var log strings.Builder
		o := at(path)
		o.log = slog.New(slog.NewTextHandler(&log, nil))
		s, err := o.open()
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := s.View(t.Context(), func(tx store.Tx) error { _, err := tx.Delivery(string(key)); return err }); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("%s: %v", what, err)
			}
		}
		if n := strings.Count(log.String(), "level=ERROR"); n != 1 && what != "nothing" {
			t.Errorf("%s: the operator is told %d times:\n%s", what, n, &log)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// inFile changes the rows of a table of a closed store's file: the nth, from 0.
func inFile(t *testing.T, path string, b table, nth int, how func([]byte) []byte) (key, damaged []byte) {
	t.Helper()
	db, err := bbolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		in := tx.Bucket([]byte(b.String()))
		cursor := in.Cursor()
		k, raw := cursor.First()
		for left := nth; k != nil && (left > 0 || b.holdsRows() && !b.isRow(k)); k, raw = cursor.Next() {
			if !b.holdsRows() || b.isRow(k) {
				left--
			}
		}
		key, damaged = bytes.Clone(k), how(bytes.Clone(raw))
		return in.Put(key, damaged)
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	return key, damaged
}

// outboxRow is the place of the second reply in the table of jobs: three events lie before the replies.
const outboxRow = 4

// three is a store's file with three rows in each list that a worker lives by: 0, 1 and 2.
func three(t *testing.T) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "purser.db")
	s := openAt(t, path)
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for n := range 3 {
		mustUpdate(t, s, func(tx store.Tx) error {
			user := wallet.User{ID: wallet.UserID(fmt.Sprint("usr_", n)), TelegramID: int64(n + 1), RegisteredAt: at}
			id := wallet.TransactionID(fmt.Sprint("tx_", n))
			event, err := wallet.NewEvent(fmt.Sprint("evt_", n), wallet.TransactionProposed, at, user.ID, "secret")
			if err != nil {
				return err
			}
			return errors.Join(tx.PutUser(user),
				tx.CreateTransaction(wallet.Transaction{ID: id, Kind: wallet.Send, Status: wallet.AwaitingConfirmation, Owner: user.ID,
					From: wallet.Address{1}, Token: wallet.SOL, Amount: uint64(n), CreatedAt: at.Add(time.Duration(n)), Deadline: at, Chat: int64(n + 1)}),
				store.Enqueue(tx, []store.Reply{{Chat: int64(n + 1), Card: fmt.Sprint("card ", n), Body: fmt.Append(nil, "secret ", n), At: at, NotAfter: at.Add(time.Hour)}}...),
				tx.PutApp(wallet.App{ID: wallet.AppID(fmt.Sprint("app_", n)), Owner: user.ID, Name: "secret", CreatedAt: at}),
				tx.PutWebhook(wallet.Webhook{ID: "wh_0", Lineage: "key_0", CreatedAt: at}), // before any event
				tx.PutWebhook(wallet.Webhook{ID: wallet.WebhookID(fmt.Sprint("hook_", n)), Lineage: "key_1", CreatedAt: at.Add(time.Duration(n))}),
				tx.Emit(event, wallet.Event{ID: fmt.Sprint("said_", n), Name: wallet.MessageReceived, At: at, User: user.ID, Data: []byte(`"secret"`)}),
				delivered(tx, store.Delivery{ID: fmt.Sprint("dlv_", n), Webhook: "wh_0", User: user.ID, Body: fmt.Append(nil, "secret ", n)}))
		})
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func delivered(tx store.Tx, d store.Delivery) error {
	_, err := tx.PutDeliveries([]store.Delivery{d})
	return err
}

// lists are the lists that workers live by, each with what its rows are in and told by.
func lists() map[table]func(store.Tx) ([]int, error) {
	numbers := func(n int, number func(int) int64) (out []int) {
		for i := range n {
			out = append(out, int(number(i)))
		}
		return out
	}
	return map[table]func(store.Tx) ([]int, error){
		jobs: func(tx store.Tx) ([]int, error) { // the queue that lies first in the table
			rows, err := tx.PendingEvents(10)
			return numbers(len(rows), func(i int) int64 { return int64(rows[i].ID[4] - '0') }), err
		},
		apps: func(tx store.Tx) ([]int, error) {
			rows, err := tx.AllApps()
			return numbers(len(rows), func(i int) int64 { return int64(rows[i].ID[4] - '0') }), err
		},
		outboxEvents: func(tx store.Tx) ([]int, error) {
			rows, err := tx.OutboxEvents(10)
			return numbers(len(rows), func(i int) int64 { return int64(rows[i].Event.ID[5] - '0') }), err
		},
		webhooks: func(tx store.Tx) ([]int, error) {
			rows, err := tx.WebhooksOf("key_1")
			return numbers(len(rows), func(i int) int64 { return int64(rows[i].ID[5] - '0') }), err
		},
		deliveryRows: func(tx store.Tx) ([]int, error) {
			rows, err := tx.DeliveriesOf("wh_0", store.Position{}, 10)
			return numbers(len(rows), func(i int) int64 { return int64(rows[i].ID[4] - '0') }), err
		},
		transactions: func(tx store.Tx) ([]int, error) {
			rows, err := tx.UnsettledTransactions(wallet.Transaction{}, 10)
			return numbers(len(rows), func(i int) int64 { return int64(rows[i].Amount) }), err
		},
	}
}

func TestADamagedRowHoldsUpNoList(t *testing.T) {
	for what, how := range storetest.WaysOfDamage() {
		for b, list := range lists() {
			t.Run(fmt.Sprint(b, " ", what), func(t *testing.T) {
				path := three(t)
				key, damaged := inFile(t, path, b, 1, how)
				var log strings.Builder
				o := at(path)
				o.log = slog.New(slog.NewTextHandler(&log, nil))
				s, err := o.open()
				if err != nil {
					t.Fatal(err)
				}
				var got []int
				for range 3 {
					if err := s.View(t.Context(), func(tx store.Tx) error { got, err = list(tx); return err }); err != nil {
						t.Fatal(err)
					}
				}
				want := []int{0, 2}
				if !slices.Equal(got, want) {
					t.Errorf("the list holds %v, want %v", got, want)
				}
				if n := strings.Count(log.String(), "level=ERROR"); n != 1 || !strings.Contains(log.String(), "table="+b.String()) {
					t.Errorf("the operator is told %d times:\n%s", n, &log)
				}
				if strings.Contains(log.String(), "secret") {
					t.Errorf("the log holds contents:\n%s", &log)
				}
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				if _, kept := inFile(t, path, b, 1, func(raw []byte) []byte { return raw }); !bytes.Equal(kept, damaged) {
					t.Errorf("the row of %x is %q, not the %q that it was", key, kept, damaged)
				}
			})
		}
	}
}

func TestMoneyIsNotJudgedWithoutADamagedRow(t *testing.T) {
	for what, how := range storetest.WaysOfDamage() {
		path := three(t)
		inFile(t, path, transactions, 1, how)
		s := openAt(t, path)
		err := s.View(t.Context(), func(tx store.Tx) error {
			_, err := tx.UnsettledFrom(wallet.Address{1})
			_, reserved := tx.ReservationsFrom(wallet.Address{1})
			_, owned := tx.UnsettledOf("usr_1")
			for list, err := range map[string]error{"unsettled": err, "reserved": reserved, "unsettled of its owner": owned} {
				if !errors.Is(err, store.ErrDamaged) && !errors.Is(err, store.ErrUnsealed) {
					t.Errorf("%s, %s: %v", what, list, err)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// What is written beside a damaged row goes on as well: a card's newer state, the sweep, erasing.
func TestADamagedRowHoldsUpNoWriter(t *testing.T) {
	for what, how := range storetest.WaysOfDamage() {
		t.Run(what, func(t *testing.T) {
			path := three(t)
			key, damaged := inFile(t, path, jobs, outboxRow, how)
			s := openAt(t, path)
			mustUpdate(t, s, func(tx store.Tx) error {
				return store.Enqueue(tx, []store.Reply{{Chat: 2, Card: "card 1", Body: []byte("newer")}}...)
			})
			mustUpdate(t, s, func(tx store.Tx) error { return tx.EraseUser("usr_0") })
			mustUpdate(t, s, func(tx store.Tx) error {
				_, err := tx.Sweep(time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC), 100)
				return err
			})
			if err := s.View(t.Context(), func(contract store.Tx) error {
				rows, err := contract.JobsOfKey(store.Outbox, store.ChatKey(2), 10)
				if len(rows) != 1 || !strings.HasSuffix(string(rows[0].Body), "\nnewer") {
					t.Errorf("the outbox holds %+v", rows)
				}
				if what != "one bit of what is sealed" { // that one was read well enough to be replaced
					if kept := contract.(*tx).get(jobs, key); !bytes.Equal(kept, damaged) {
						t.Errorf("the row is %q", kept)
					}
				}
				return err
			}); err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// A damaged row of a webhook, or of what waits for it, can be got rid of like any other.
func TestDamagedDeliveriesGo(t *testing.T) {
	for what, how := range storetest.WaysOfDamage() {
		for _, way := range []string{"done", "webhook", "person", "owner"} {
			t.Run(fmt.Sprint(what, " ", way), func(t *testing.T) {
				path := three(t)
				key, _ := inFile(t, path, deliveryRows, 1, how)
				if way == "owner" {
					s := openAt(t, path)
					mustUpdate(t, s, func(tx store.Tx) error {
						return tx.PutWebhook(wallet.Webhook{ID: "wh_1", Lineage: "key_1", Owner: "usr_2"})
					})
					if err := s.Close(); err != nil {
						t.Fatal(err)
					}
					inFile(t, path, webhooks, 4, how)
				}
				s := openAt(t, path)
				damaged := store.Delivery{ID: "dlv_1", Webhook: "wh_0", User: "usr_1", Seq: 2}
				mustUpdate(t, s, func(tx store.Tx) error {
					switch way {
					case "done":
						return errors.Join(tx.Reschedule([]store.Delivery{damaged}), tx.DoneDeliveries([]store.Delivery{damaged}))
					case "person":
						return tx.EraseUser("usr_1")
					case "owner":
						return errors.Join(tx.EraseUser("usr_2"), tx.EraseUser("usr_1"))
					}
					return tx.DeleteWebhook("wh_0")
				})
				if err := s.View(t.Context(), func(contract store.Tx) error {
					inner := contract.(*tx)
					if inner.get(deliveryRows, key) != nil || inner.get(webhooks, []byte("wh_1")) != nil || inner.get(deliveriesAbout, aboutKey("usr_1", 2)) != nil && way != "webhook" {
						t.Error("it is still there")
					}
					return nil
				}); err != nil {
					t.Error(err)
				}
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
			})
		}
	}
}

// TestDamageInAChatBarsNobody: whatever small row of a person's chat is damaged, they can still talk to the bot, what is
// sent to them can be noted, and they can be erased for good.
func TestDamageInAChatBarsNobody(t *testing.T) {
	const person = 77
	at := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	later := at.Add(time.Hour)
	button := store.Button{Nonce: "nonce", Chat: person, User: person, Subject: "tx_1", Action: "confirm", ExpiresAt: later}
	damaged := []table{sendResults, cards, portalTokens, buttons, conversations}
	for round, b := range slices.Concat(damaged, damaged) {
		atOnce := round >= len(damaged) // they are erased before anything else happens
		for what, how := range storetest.WaysOfDamage() {
			path := filepath.Join(t.TempDir(), "purser.db")
			s := openAt(t, path)
			mustUpdate(t, s, func(tx store.Tx) error {
				return errors.Join(tx.PutUser(wallet.User{ID: "usr_1", TelegramID: person, RegisteredAt: at}),
					tx.PutSendResult(person, "card", store.SendResult{MessageID: 5, ExpiresAt: later}),
					tx.PutCard(person, "card", 5, later),
					tx.PutPortalToken(store.PortalToken{Kind: store.PortalSession, Owner: "usr_1", Lineage: "key_1", EndsAt: later}, "secret", 5),
					tx.PutButtons([]store.Button{button}),
					store.SaveConversation(tx, store.Conversation{Chat: person, User: person, State: "asks", Flow: "send", ExpiresAt: later}, at),
					store.SaveConversation(tx, store.Conversation{Chat: person, User: person, State: "asks again", Flow: "send", ExpiresAt: later, Version: 1}, at))
			})
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			inFile(t, path, b, 0, how)
			s = openAt(t, path)
			for step, do := range map[string]func(tx store.Tx) error{
				"a send result is noted": func(tx store.Tx) error {
					return tx.PutSendResult(person, "card", store.SendResult{MessageID: 6, ExpiresAt: later})
				},
				"a send result is dropped": func(tx store.Tx) error { return tx.DropSendResult(person, "card") },
				"a card is noted":          func(tx store.Tx) error { return tx.PutCard(person, "card", 6, later) },
				"a button is replaced":     func(tx store.Tx) error { return tx.PutButtons([]store.Button{button}) },
				"a session begins": func(tx store.Tx) error {
					return tx.PutPortalToken(store.PortalToken{Kind: store.PortalSession, Owner: "usr_1", Lineage: "key_1", EndsAt: later}, "another", 1)
				},
				"they say something": func(tx store.Tx) error {
					c, err := tx.Conversation(person, person, "")
					if err != nil {
						return err
					}
					stale := c
					c.State, c.Flow, c.ExpiresAt = "goes on", "send", later
					if err := store.SaveConversation(tx, c, at); err != nil {
						return err
					}
					for _, version := range []uint64{0, 1, 2, stale.Version} { // of steps that were made before
						stale.Version = version
						if err := tx.PutConversation(stale); !errors.Is(err, store.ErrConflict) {
							t.Errorf("%v, %s: a step of version %d: %v", b, what, version, err)
						}
					}
					return nil
				},
				"all buttons are used": func(tx store.Tx) error { return tx.UseButtons(person, person, "tx_1", at) },
			} {
				if atOnce {
					break
				}
				if err := s.Update(t.Context(), do); err != nil {
					t.Errorf("%v, %s: %s: %v", b, what, step, err)
				}
			}
			mustUpdate(t, s, func(tx store.Tx) error { return tx.EraseUser("usr_1") })
			if err := s.View(t.Context(), func(v store.Tx) error {
				in := v.(*tx)
				for _, empty := range []table{sendResults, cards, buttons, buttonsOf, conversations} {
					if n := len(in.prefixed(empty, nil)); n != 0 {
						t.Errorf("%v, %s: %d rows are left in %v", b, what, n, empty)
					}
				}
				return nil
			}); err != nil {
				t.Error(err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}
