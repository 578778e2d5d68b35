package records

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"purser/store"
	"purser/store/bolt"
	"purser/store/storetest"
	"purser/wallet"
)

// inTheClear are the fields that may be read by whoever has the file: opaque ids, public facts of
// the chain, and what steers the engine. Every other text or number of a row must not be found.
func inTheClear() []string {
	return []string{
		"User.ID", "User.Freeze.By", "User.Freeze.Message", "User.Notifications.Events[0]", "User.Notifications.Events[1]", "Grant.Events.Events[0]", "Grant.Events.Events[1]",
		"Wallet.Owner", "Wallet.Type", "Wallet.KeyLineage", "Wallet.Claim.Type", "Wallet.Claim.KeyLineage", "Wallet.Claim.User",
		"FreezeLink.User", "FreezeLink.Use", "WalletPolicy.Owner", "PolicyLink.User",
		"Bind.User", "Bind.Status", "Bind.Type", "Bind.KeyID", "Bind.OfferedBy",
		"Transaction.ID", "Transaction.Kind", "Transaction.Status", "Transaction.Owner", "Transaction.KeyID", "Transaction.Signer",
		"Transaction.DelayFor", "Transaction.Token.Symbol", "Transaction.Landing.Failure", "Transaction.Landing.Confirmations",
		"Transaction.RetryOf", "Transaction.RetriedBy", "Transaction.Answers",
		"Transaction.ErrorCode", "Transaction.ErrorReason.Key", "Transaction.ErrorReason.Args[0]", "Transaction.ErrorReason.Args[1]",
		"Transaction.Refusal", "Transaction.RefusalReason.Key", "Transaction.RefusalReason.Args[0]", "Transaction.RefusalReason.Args[1]",
		"Key.ID", "Key.Kind", "Key.Tier", "Key.Scopes[0]", "Key.Scopes[1]", "Key.Owner", "Key.Hint", "Key.App", "Key.First", "Key.Next",
		"PortalToken.Kind", "PortalToken.Owner",
		"App.ID", "App.Owner", "App.Scopes[0]", "App.Scopes[1]",
		"Grant.User", "Grant.App", "Grant.Scopes[0]", "Grant.Scopes[1]",
		"Developer.User", "Developer.Verified[0].By", "Developer.Verified[1].By",
		"Webhook.ID", "Webhook.Kind", "Webhook.Lineage", "Webhook.Owner", "Webhook.Events[0]", "Webhook.Events[1]", "Webhook.Ended", "Webhook.Node", "Webhook.Node",
		"WebhookHealth.Failures", "WebhookHealth.LastStatus",
		"Delivery.ID", "Delivery.Webhook", "Delivery.EventID", "Delivery.Event", "Delivery.User", "Delivery.Attempts", "Delivery.Pause",
		"Job.Queue", "Job.About",
		"Counter.Name", "Counter.Slots[0].Start", "Counter.Slots[1].Start",
		"Counter.Leases[0].Node", "Counter.Leases[0].Run", "Counter.Leases[0].Until", "Counter.Leases[0].Lost.Start", "Counter.Leases[1].Node", "Counter.Leases[1].Run", "Counter.Leases[1].Until", "Counter.Leases[1].Lost.Start",
		"Conversation.Slot", "Conversation.Flow", "Conversation.State",
		"Button.Nonce",

		"IdempotencyRecord.Status",
		"Event.ID", "Event.Name", "Event.User", "Event.Transaction", "Event.To",
		"Contact.Owner",
	}
}

// TestFileTellsNothingOfPeople fills every field of every row with marks and looks for them in the
// raw bytes of the file, in each form that they could have there.
func TestFileTellsNothingOfPeople(t *testing.T) {
	path := filepath.Join(t.TempDir(), "purser.db")
	s := openAt(t, path)
	marks := map[string]any{"api key": "pur_live_marked_secret", "idempotency key": "marked-idempotency-key", "portal token": "marked-portal-pass"}
	var (
		u           wallet.User
		w           wallet.Wallet
		b           wallet.Bind
		row         wallet.Transaction
		k           wallet.Key
		portalToken store.PortalToken
		c           store.Conversation
		n           store.Button
		out         store.Reply
		a           store.IdempotencyRecord
		end         store.SendResult
		e           wallet.Event
		book        wallet.Contact
		app         wallet.App
		gr          wallet.Grant
		dev         wallet.Developer
		hook        wallet.Webhook
		fare        wallet.WebhookHealth
		post        store.Delivery
		tick        store.Counter
		task        store.Job
		freezes     wallet.FreezeLink
		policy      wallet.WalletPolicy
		policyLink  wallet.PolicyLink
		from        = int64(7_700_000_000_000) // numbers as unlikely as Telegram ids
	)
	for _, one := range []any{&u, &w, &b, &row, &k, &portalToken, &c, &n, &out, &a, &end, &e, &book, &app, &gr, &dev, &hook, &fare, &post, &tick, &task, &freezes, &policy, &policyLink} {
		maps.Copy(marks, storetest.Fill(one, from))
		from += 1_000_003
	}
	marks["Contact.Address"], marks["Transaction.PoisoningSuspect"] = book.Address.String(), row.PoisoningSuspect.String()
	marks["Delivery.Webhook"], marks["Transaction.Kind"] = string(hook.ID), `"type":"send"`
	c.Version, post.Webhook, row.Kind = 0, hook.ID, wallet.Send
	task.Priority, out.Priority = store.JobSoon, 2
	portalSecret := marks["portal token"].(string)
	// Once as a stranger's, under the system's key, and once more as a user's.
	write := func(tx store.Tx) error {
		if err := errors.Join(tx.PutWebhook(hook), tx.PutWebhookHealth(hook.ID, fare)); err != nil { // first: Emit looks for them
			return err
		}
		if _, err := tx.PutDeliveries([]store.Delivery{post}); err != nil {
			return err
		}
		if _, err := tx.PutJobs([]store.Job{task}, nil); err != nil {
			return err
		}
		for _, step := range []error{tx.PutWallet(w), tx.PutBind(b), tx.PutConversation(c), tx.PutPortalToken(portalToken, portalSecret, 1),
			tx.PutButtons([]store.Button{n}), tx.PutCard(out.Chat, out.Card, 1, time.Time{}), tx.PutSendResult(out.Chat, out.Card, end), store.Enqueue(tx, []store.Reply{out}...), tx.Emit(e), tx.PutContact(book),
			tx.PutApp(app), tx.PutGrant(gr), tx.PutDeveloper(dev), tx.PutFreezeLink(freezes), tx.PutPolicy(policy), tx.PutPolicyLink(policyLink), tx.PutCounters([]store.Counter{tick})} {
			if step != nil {
				return step
			}
		}
		return nil
	}
	mustUpdate(t, s, write)
	mustUpdate(t, s, func(tx store.Tx) error {
		for _, step := range []error{tx.PutUser(u), tx.CreateTransaction(row), tx.CreateKey(k, marks["api key"].(string)),
			tx.PutIdempotencyRecord(marks["idempotency key"].(string), a)} {
			if step != nil {
				return step
			}
		}
		return nil
	})
	// Make every row the user's own.
	row.Owner, row.Version, row.SignID = u.ID, 1, "marked-second-sign-id"
	marks["second sign id"] = row.SignID
	row.ID = "tx_second"
	row.Signature = wallet.Signature{1}
	c.Version, c.User = 0, u.TelegramID
	out.Chat, n.User = u.TelegramID, u.TelegramID
	book.Owner = u.ID
	portalToken.Owner, gr.User, dev.User, task.About, task.ID = u.ID, u.ID, u.ID, u.ID, task.ID+"-second"
	app.ID, app.Owner = "app_second", u.ID
	policy.Owner, policyLink.User, policyLink.TokenHash = u.ID, u.ID, [32]byte{1}
	freezes.User, freezes.TokenHash = u.ID, [32]byte{1}
	hook.ID, hook.Owner = "wh_second", u.ID
	portalSecret += "-second" // the first one stays
	post.ID, post.Webhook, post.User = "dlv_second", hook.ID, u.ID
	b.User, b.TokenHash, e.User, e.ID = u.ID, [32]byte{1}, u.ID, "evt_second"
	mustUpdate(t, s, write)
	mustUpdate(t, s, func(tx store.Tx) error { return tx.CreateTransaction(row) })
	// Anybody can unpack what is packed.
	var packed [][]byte
	if err := s.view(t.Context(), func(t *tx) error {
		for key, raw := range t.scan(finals, all()) {
			r, err := t.row(finals, key, raw)
			if err != nil {
				return err
			}
			if isPacked(r.plain) {
				text, err := unpack(r.plain, r.owner)
				if err != nil {
					return err
				}
				packed = append(packed, text)
			}
		}
		return nil
	}); err != nil || len(packed) == 0 {
		t.Fatalf("%d rows are packed: %v", len(packed), err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	file = slices.Concat(append(packed, file)...)
	clear := map[string]bool{}
	for _, name := range inTheClear() {
		clear[name] = true
		if _, ok := marks[name]; !ok {
			t.Errorf("%s is no field any more", name)
		}
	}
	found := 0
	for name, mark := range marks {
		forms := formsOf(mark)
		where := -1
		for form, raw := range forms {
			if at := bytes.Index(file, raw); at >= 0 {
				where = at
				if !clear[name] {
					t.Errorf("%s is in the file (%s, at %d)", name, form, at)
				}
			}
		}
		if clear[name] { // the control: the search finds what is there
			if where < 0 {
				t.Errorf("%s is said to be in the clear, and is not found", name)
			}
			found++
		}
	}
	t.Logf("%d marks looked for, %d of them controls", len(marks), found)
	if bytes.Contains(file, masterKey()) {
		t.Error("the master key is in the file")
	}
}

// formsOf lists how a value could lie in the file.
func formsOf(mark any) map[string][]byte {
	switch v := mark.(type) {
	case int64:
		return map[string][]byte{
			"decimal":       []byte(fmt.Sprint(v)),
			"big-endian":    binary.BigEndian.AppendUint64(nil, uint64(v)),
			"little-endian": binary.LittleEndian.AppendUint64(nil, uint64(v)),
		}
	case string:
		quoted, err := json.Marshal(v)
		if err != nil {
			panic(err)
		}
		forms := map[string][]byte{"plain": []byte(v), "JSON": bytes.Trim(quoted, `"`)}
		// Base64 of a text within a longer one: cut to whole groups, at each of three offsets.
		for offset := range 3 {
			if len(v) > offset+6 {
				cut := v[offset : offset+(len(v)-offset)/3*3]
				forms[fmt.Sprintf("base64+%d", offset)] = []byte(strings.TrimRight(base64.StdEncoding.EncodeToString([]byte(cut)), "="))
			}
		}
		return forms
	}
	panic(fmt.Sprintf("a mark of type %T", mark))
}

// TestLogTellsNothingOfPeople looks for what is sealed in the raw bytes of a day's file.
func TestLogTellsNothingOfPeople(t *testing.T) {
	folder := t.TempDir()
	s := openAt(t, filepath.Join(folder, "purser.db"))
	days, err := bolt.OpenDays(filepath.Join(folder, "log"), LogLayout(), nil)
	if err != nil {
		t.Fatal(err)
	}
	l := OpenLog(days, s)
	var stranger, known store.LogEntry
	marks := storetest.Fill(&stranger, 7_700_000_000_000)
	storetest.Fill(&known, 7_700_000_000_000)
	known.ID, known.User = "dlv_known", "usr_a"
	if err := errors.Join(s.Update(t.Context(), func(tx store.Tx) error { return tx.PutUser(wallet.User{ID: "usr_a"}) }),
		l.Log(t.Context(), []store.LogEntry{stranger, known}), l.Close(), s.Close()); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(folder, "log", "*.db"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	file := fileBytes(t, files[0])
	clear := map[string]bool{}
	for _, name := range []string{"ID", "Webhook", "EventID", "Event", "User", "Attempts", "Pause", "Seq"} {
		clear["LogEntry.Delivery."+name] = true
	}
	for _, name := range []string{"State", "Attempted[0].Status", "Attempted[1].Status", "Attempted[0].Latency", "Attempted[1].Latency"} {
		clear["LogEntry."+name] = true
	}
	for name, mark := range marks {
		found := false
		for _, raw := range formsOf(mark) {
			found = found || bytes.Contains(file, raw)
		}
		if found != (clear[name] && name != "LogEntry.Delivery.Seq") && name != "LogEntry.Delivery.Seq" {
			t.Errorf("%s: in the file: %v", name, found)
		}
	}
	if info, err := os.Stat(files[0]); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if info, err := os.Stat(filepath.Dir(files[0])); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("mode of the folder %v, %v", info.Mode(), err)
	}
}
