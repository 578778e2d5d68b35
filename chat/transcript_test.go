// Long: every line of a transcript is played here, by small cases.

package chat_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"purser/chat"
	"purser/e2e/world"
	"purser/handlers"
	"purser/sandbox/solana"
	"purser/store"
	"purser/wallet"
)

var update = flag.Bool("update", false, "rewrite transcripts and documents from what the code does")

// TestTranscripts plays testdata/*.chat: lines beginning with "> " happen, the rest is what comes
// of them. See happen for what can happen.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.chat")
	if err != nil || len(files) == 0 {
		t.Fatal("no transcripts", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".chat"), func(t *testing.T) {
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			r := newHarnessIn(t, worldOf(string(want)))
			var got strings.Builder
			for line := range strings.Lines(string(want)) {
				switch {
				case strings.HasPrefix(line, "#"), line == "\n":
					got.WriteString(line)
				case strings.HasPrefix(line, "> "):
					got.WriteString(line)
					r.happen(strings.TrimSpace(line[2:]))
					for _, said := range r.seen {
						got.WriteString(said)
					}
					r.seen = nil
				}
			}
			if *update {
				if err := os.WriteFile(file, []byte(got.String()), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got.String() != string(want) {
				t.Errorf("%s is not what happens (go test ./chat -update rewrites it); now:\n%s", file, difference(string(want), got.String()))
			}
		})
	}
}

// difference shows the first lines that differ.
func difference(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range max(len(w), len(g)) {
		if i >= len(w) || i >= len(g) || w[i] != g[i] {
			at := func(lines []string) string { return strings.Join(lines[min(i, len(lines)):min(i+6, len(lines))], "\n") }
			return fmt.Sprintf("line %d, want:\n%s\n\ngot:\n%s", i+1, at(w), at(g))
		}
	}
	return ""
}

// happen plays one line:
//
//	alice: TEXT                      says TEXT in her private chat ("…" is unquoted; $bob is an address)
//	alice in group: TEXT             says it in a group
//	alice forwards: TEXT, alice edits: TEXT
//	alice sends a picture, alice shares a contact
//	alice shares bob's contact
//	alice types the code, alice types a wrong code
//	alice opens bob's app               the consent link that stands in Bob's chat
//	alice opens the operator's app      the operator's newest one
//	alice's app writes to bob: TEXT     with her newest bot token; the operator writes to bob: TEXT
//	bob answers the app: TEXT           replies to the newest message of an app in his chat; or answers me
//	alice is @NAME                      in Telegram, from now on
//	alice is called NAME                in Telegram, from now on
//	the operator has a key for APP      made by 'purser key create' without an owner
//	steps contact email                 verification.steps; operators carol dave: who may approve
//	mail is down, mail is up
//	carol has a key for APP             made by the operator, with `purser key create`; "nothing in particular" is no app; "a pro key", "a pro token"
//	alice picks bob, alice picked bob   from Telegram's list of people: the one that is open, or an older one
//	alice has a webhook at URL         of her newest key
//	alice's webhook fails, alice's webhook is gone, alice's webhook is given up (or has a backlog)
//	alice taps LABEL, bob taps alice's LABEL, alice forges DATA
//	app asks alice 2 $bob            a program proposes a transfer with her key
//	rich alice 2                     has a profile, a connected wallet and 2 SOL
//	alice's app asks bob 2 $carol    with her newest app, which he has allowed it
//	fund alice 2
//	alice's page proves alice, alice's page signs, alice's page rejects
//	alice's page sets the limits        of her newest link to sign spending limits, with her own key
//	network is down, network is up
//	alice's page keeps what it signed
//	network: landed alice            a wallet.Trigger befalls her newest transaction
//	network: paid bob                Alice pays his newest request from another wallet app
//	clock 5m
//	price SOL 147.4789 1.25 jupiter 12s  a source said so 12 seconds ago, with the change over 24 hours; - is no change
//	alice speaks es                  in Telegram; buttons are tapped by their English labels
//	news TITLE                       a feed of the operator's has published it
//	alice approves bob 25 USDC       a hostile app got her to sign that Bob may spend them; all USDC is without a limit
//	an epoch passes                  of Solana, and its rewards are paid
//	alice's key is used from ADDRESS
//	alice's link opens in Firefox (Linux) at ADDRESS   her newest link to the signing page or the portal
//	alice's stakes get a tip         of 0.005 SOL each, from their validator
func (r *harness) happen(line string) {
	r.Helper()
	words := strings.Fields(line)
	who := strings.TrimSuffix(strings.TrimSuffix(words[0], ":"), "'s")
	before, text, isSaid := strings.Cut(line, ": ")
	switch {
	case words[0] == "rich":
		r.rich(words[1], r.lamports(words[2]))
	case words[0] == "app":
		r.proposes(words[2], words[3], r.addresses(words[4]))
	case words[0] == "fund":
		token := wallet.SOL.Symbol
		if len(words) > 3 {
			token = words[3]
		}
		r.fund(words[1], words[2], token)
	case words[0] == "delay": // of every payment that is proposed from now on
		d, err := time.ParseDuration(words[1])
		r.Must(err)
		r.Delayed(d)
	case words[0] == "elsewhere": // a wallet is used without purser
		p := r.people[words[1]]
		r.SendBehind(p.Person, wallet.Transaction{From: p.Address(), To: r.people["bob"].Address(), Amount: r.lamports(words[2])})
		r.Blocks(3)
	case words[0] == "clock":
		d, err := time.ParseDuration(words[1])
		r.Must(err)
		r.clock(d)
	case len(words) == 3 && words[1] == "speaks":
		r.speaks(who, words[2])
	case r.happensToStakes(who, line), r.happensToPrices(words), r.happensToSecurity(who, line), r.happensToDelegates(who, words):
	case words[0] == "steps":
		r.Developers.Steps = nil
		for _, step := range words[1:] {
			r.Developers.Steps = append(r.Developers.Steps, wallet.Verification(step))
		}
	case words[0] == "operators":
		r.Developers.Admins = nil
		for _, name := range words[1:] {
			r.Developers.Admins = append(r.Developers.Admins, r.people[name].TelegramID)
		}
	case words[0] == "mail":
		r.noMail = words[2] == "down"
	case line == "network is down":
		r.Cluster.SetFault(func(string, json.RawMessage) (f solana.Fault) { f.Status = 503; return f })
	case line == "network is up":
		r.Cluster.SetFault(nil)
	case before == "network":
		at := strings.LastIndexByte(text, ' ')
		r.network(text[at+1:], wallet.Trigger(text[:at]))
	case strings.Contains(line, " writes to "):
		who, to, _ := strings.Cut(before, " writes to ")
		r.writes(strings.TrimSuffix(strings.TrimPrefix(who, "the "), "'s app"), to, text)
	case strings.HasPrefix(line, "the operator has a key for "):
		req := handlers.KeyRequest{Kind: wallet.APIKey, Tier: wallet.FreeTier, App: strings.TrimPrefix(line, "the operator has a key for ")}
		_, _, err := r.Keys.Create(r.Context(), req)
		r.Must(err)
	case r.people[who] == nil:
		r.Fatalf("what is %q?", line)
	case strings.Contains(line, " is @"):
		_, r.people[who].handle, _ = strings.Cut(line, " is @")
	case strings.Contains(line, " is called "):
		_, r.people[who].called, _ = strings.Cut(line, " is called ")
	case isSaid && strings.HasPrefix(text, `"`) && before == who:
		quoted, err := strconv.Unquote(text)
		r.Must(err)
		r.says(who, r.addresses(quoted))
	case isSaid && before == who:
		r.says(who, r.addresses(text))
	case isSaid:
		in := r.input(who)
		in.Text = r.addresses(text)
		switch strings.TrimPrefix(before, who+" ") {
		case "in group":
			in.Chat, in.Private = -500, false
		case "forwards":
			in.Forwarded = true
		case "edits":
			in.Edited = true
		case "answers the app":
			in.ReplyTo = r.fromApp(who)
		case "answers me":
			all := r.messages[in.Chat]
			in.ReplyTo = all[len(all)-1].id
		default:
			r.Fatalf("what is %q?", line)
		}
		r.does(in)
	case strings.HasSuffix(line, "sends a picture"):
		r.does(r.input(who))
	case strings.HasSuffix(line, "'s contact"):
		in := r.input(who)
		in.Contact = &chat.Contact{TelegramID: r.people[strings.TrimSuffix(words[2], "'s")].TelegramID}
		r.does(in)
	case strings.Contains(line, " has a key for "), strings.Contains(line, " has a pro "):
		req := handlers.KeyRequest{Kind: wallet.APIKey, Tier: wallet.FreeTier, OwnerTelegramID: r.people[who].TelegramID}
		if _, req.App, _ = strings.Cut(line, " for "); req.App == "nothing in particular" {
			req.App = ""
		}
		if strings.Contains(line, " has a pro ") {
			req.Tier = wallet.ProTier
		}
		if strings.Contains(line, " token for ") {
			req.Kind = wallet.BotKey
		}
		_, _, err := r.Keys.Create(r.Context(), req)
		r.Must(err)
	case strings.Contains(line, " has a webhook at "):
		_, url, _ := strings.Cut(line, " has a webhook at ")
		r.hook(who, url)
	case len(words) > 2 && words[1] == "webhook": // of the operator's, or of somebody's newest key
		r.hookTrouble(who, strings.Join(words[2:], " "))
	case strings.HasSuffix(line, "types the code"):
		r.says(who, r.code())
	case strings.HasSuffix(line, "types a wrong code"):
		r.says(who, strings.Map(func(d rune) rune { return '0' + (d-'0'+1)%10 }, r.code()))
	case strings.HasSuffix(line, " opens the operator's app"):
		var apps []wallet.App
		r.View(func(tx store.Tx) (err error) { apps, err = tx.AppsOf(""); return err })
		r.says(who, "/start "+string(apps[len(apps)-1].ID))
	case words[1] == "opens":
		r.says(who, "/start "+r.people[strings.TrimSuffix(words[2], "'s")].app)
	case strings.HasSuffix(line, "'s page sets the limits"):
		r.setsLimits(who, r.people[who].Key)
	case strings.HasSuffix(line, "shares a contact"):
		in := r.input(who)
		in.Contact = &chat.Contact{TelegramID: in.From.TelegramID}
		r.does(in)
	case words[1] == "picks", words[1] == "picked": // from the list that is open, or from one that was
		in := r.input(who)
		in.Picked = &chat.Picked{Request: r.people[who].list}
		if words[1] == "picked" {
			in.Picked.Request++
		}
		if p := r.people[words[2]]; p != nil {
			in.Picked.TelegramID = p.TelegramID
		}
		r.does(in)
	case words[1] == "forges":
		in := r.input(who)
		in.Tap = &chat.Tap{CallbackID: "forged", Data: strings.TrimPrefix(line, who+" forges ")}
		r.does(in)
	case words[1] == "taps":
		label, whose := strings.TrimPrefix(line, who+" taps "), who
		if owner, rest, ok := strings.Cut(label, "'s "); ok && r.people[owner] != nil {
			label, whose = rest, owner
		}
		r.presses(who, r.addresses(label), whose)
	case words[1] == "app":
		r.appProposes(who, words[3], words[4], r.addresses(words[5]))
	case words[1] == "page":
		r.page(who, words[2:])
	default:
		r.Fatalf("what is %q?", line)
	}
}

// writes plays somebody's app, or the operator's, that sends a message.
func (r *harness) writes(developer, to, text string) {
	r.Helper()
	by := handlers.Caller{KeyID: "key_op", KeyLineage: "key_op", Bot: true}
	if developer != "operator" {
		for _, key := range r.keys() {
			if key.Owner == r.userOf(developer) && key.Kind == wallet.BotKey {
				by = handlers.CallerOf(key)
			}
		}
	}
	posting, err := r.chat.Post(r.Context(), chat.AppMessage{ID: r.NewID("msg"), By: by, Chat: r.people[to].TelegramID, Text: text})
	r.Must(err)
	r.Must(r.Update(func(tx store.Tx) error { return posting.Commit(tx, time.Time{}) }))
	r.settle()
}

// fromApp is the newest message of an app in somebody's chat.
func (r *harness) fromApp(who string) int {
	r.Helper()
	all := r.messages[r.people[who].TelegramID]
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].reply.Author != "" {
			return all[i].id
		}
	}
	r.Fatalf("no app has written to %s", who)
	return 0
}

func (r *harness) page(who string, what []string) {
	r.Helper()
	switch what[0] {
	case "proves":
		r.proves(who, r.people[what[1]].Key)
	case "signs":
		r.signs(who)
	case "keeps":
		r.keeps(who)
	case "unfreezes":
		r.unfreezes(who, r.people[what[1]].Key)
	case "rejects":
		_, err := r.Signing.Reject(r.Context(), handlers.ByLink(r.people[who].link[len("s="):]))
		r.Must(err)
		r.settle()
	default:
		r.Fatalf("a page does not %q", what)
	}
}

// proposes plays a program with a key of somebody's, as the API carries it.
func (r *harness) proposes(who, amount, to string) {
	r.Helper()
	owner := r.userOf(who)
	proposal, err := r.Transfers.Prepare(r.Context(), handlers.Caller{User: owner, KeyID: "key_" + who, KeyLineage: "key_" + who},
		handlers.SendRequest{To: wallet.MustAddress(to), Amount: world.Quantity(amount), Token: world.TokenRef("SOL")})
	r.Must(err)
	r.Must(r.Update(func(tx store.Tx) error {
		if _, err := tx.Key("key_" + who); errors.Is(err, store.ErrNotFound) {
			key := wallet.Key{ID: "key_" + who, Kind: wallet.APIKey, Tier: wallet.FreeTier, Owner: owner, Hint: "9jlx"}
			if err := tx.CreateKey(key, "secret of "+who); err != nil {
				return err
			}
		}
		_, err := r.Transfers.CommitByProgram(tx, proposal)
		return err
	}))
	r.settle()
}

// appProposes plays somebody's app with its newest API key, for a person who allows it.
func (r *harness) appProposes(developer, who, amount, to string) {
	r.Helper()
	keys := r.keys()
	i := len(keys) - 1
	for ; keys[i].Owner != r.userOf(developer) || keys[i].Kind != wallet.APIKey; i-- {
	}
	proposal, err := r.Transfers.Prepare(r.Context(), handlers.CallerOf(keys[i]),
		handlers.SendRequest{From: r.people[who].Address(), To: wallet.MustAddress(to), Amount: world.Quantity(amount), Token: world.TokenRef("SOL")})
	r.Must(err)
	r.Must(r.Update(func(tx store.Tx) error { _, err := r.Transfers.CommitByProgram(tx, proposal); return err }))
	r.settle()
}

func (r *harness) lamports(text string) uint64 {
	r.Helper()
	if text == "0" {
		return 0
	}
	return r.units(text, wallet.SOL.Decimals)
}

func (r *harness) fund(name, amount, token string) {
	r.Helper()
	to := r.people[name].Address()
	if token == wallet.SOL.Symbol {
		r.Fund(to, r.lamports(amount))
		return
	}
	r.FundToken(to, token, r.units(amount, 6))
}

// addresses puts people's addresses in the place of $name, and …name in the place of the last six
// characters. $bob~ is an address that Bob's could be taken for, and MIDDLE(bob~) what it asks for; MIDDLE(bob) is that of his own. CUT(bob) is his address as
// apps shorten it, HEAD(bob) without its end, and TYPO(bob) with one character mistyped.
func (r *harness) addresses(text string) string {
	twin := world.Resembling(r, r.people["bob"].Address(), 4, 4)
	_, middle := twin.Middle()
	text = strings.NewReplacer("$bob~", twin.String(), "MIDDLE(bob~)", middle).Replace(text)
	for i, key := range r.keys() {
		text = strings.ReplaceAll(text, fmt.Sprintf("…k%d", i+1), "…"+key.Hint)
	}
	for name, p := range r.people {
		whole := p.Address().String()
		_, own := p.Address().Middle()
		text = strings.ReplaceAll(text, "MIDDLE("+name+")", own)
		text = strings.NewReplacer("CUT("+name+")", whole[:4]+"…"+whole[len(whole)-4:], "HEAD("+name+")", whole[:20],
			"TYPO("+name+")", mistyped(p.Address())).Replace(text)
		text = strings.ReplaceAll(text, "$"+name+"-in-groups", inGroups(p.Address().String()))
		text = strings.ReplaceAll(text, "$"+name, p.Address().String())
		text = strings.ReplaceAll(text, "…"+name, "…"+p.Address().Tail())
	}
	return text
}

// hints puts …k1 in the place of the first key's last characters, …k2 for the second's, and so on.
func (r *harness) hints(text string) string {
	for i, key := range r.keys() {
		text = strings.ReplaceAll(text, "…"+key.Hint, fmt.Sprintf("…k%d", i+1))
	}
	return text
}

// keys are all keys there are, oldest first.
func (r *harness) keys() []wallet.Key {
	r.Helper()
	keys, err := r.Keys.List(r.Context())
	r.Must(err)
	return keys
}

// signature is one in a message.
var signature = regexp.MustCompile(`<code>[1-9A-HJ-NP-Za-km-z]{64,90}</code>`)

// inGroups is a text of ASCII in groups of four characters.
func inGroups(text string) string {
	var groups []string
	for group := range slices.Chunk([]byte(text), 4) {
		groups = append(groups, string(group))
	}
	return strings.Join(groups, " ")
}

// show is one delivered reply as a transcript shows it.
func (r *harness) show(who, how string, reply chat.Reply) string {
	twin := world.Resembling(r, r.people["bob"].Address(), 4, 4).String()
	text := strings.NewReplacer(twin, "$bob~", inGroups(twin), "$bob~ in groups").Replace(reply.Text)
	for name, p := range r.people {
		text = strings.ReplaceAll(text, inGroups(p.Address().String()), "$"+name+" in groups")
		text = strings.ReplaceAll(text, p.Address().String(), "$"+name)
		text = strings.ReplaceAll(text, p.Address().Tail(), name)
	}
	text = signature.ReplaceAllString(text, "<code>SIGNATURE</code>")
	text = r.hints(text)
	text = keySecret.ReplaceAllString(text, "${1}-KEY")
	var out strings.Builder
	kind := ""
	if reply.Kind != chat.Message {
		kind = strings.Join(strings.Fields(string(reply.Kind)+" "+reply.FileName), " ") + " "
	}
	first := fmt.Sprintf("  %s < %s%s", who, how, kind)
	for line := range strings.Lines(text) {
		out.WriteString(strings.TrimRight(first+line, " \n") + "\n")
		first = "        | "
	}
	if text == "" {
		out.WriteString(strings.TrimRight(first, " ") + "\n")
	}
	if k := reply.Keyboard; k != nil {
		out.WriteString("          " + map[bool]string{true: "(keyboard removed)", false: "(keyboard: " + k.People + k.Contact + ")"}[k.Remove] + "\n")
	}
	for _, row := range reply.Buttons {
		out.WriteString("         ")
		for _, b := range row {
			label := r.hints(b.Text)
			for name, p := range r.people {
				label = strings.ReplaceAll(label, p.Address().Tail(), name)
			}
			if strings.HasPrefix(label, "…") && r.people[strings.TrimPrefix(label, "…")] == nil {
				label = "…decoy"
			}
			target := ""
			if b.URL != "" {
				target = " → " + regexp.MustCompile(`(#[bst]=|/tx/)[^?]+`).ReplaceAllString(b.URL, "${1}…")
			}
			if b.Copy != "" {
				target = " ⧉"
			}
			fmt.Fprintf(&out, " [%s%s]", label, target)
		}
		out.WriteString("\n")
	}
	return out.String()
}

// hook registers a webhook of somebody's newest key.
func (r *harness) hook(who, url string) {
	r.Helper()
	owner := r.people[who].User.ID
	r.Must(r.Update(func(tx store.Tx) error {
		keys, err := tx.KeysOf(owner)
		if err != nil {
			return err
		}
		key := keys[len(keys)-1]
		return tx.PutWebhook(wallet.Webhook{ID: wallet.WebhookID(r.NewID("wh")), Kind: key.Kind, Lineage: key.Lineage(), Owner: owner, URL: url,
			Events: []string{"*"}, Active: true, Secret: "a secret of sixteen", CreatedAt: r.Now()})
	}))
}

// hookTrouble lets something befall somebody's newest webhook, as the engine of deliveries does.
func (r *harness) hookTrouble(who, what string) {
	r.Helper()
	owner := r.people[who].User.ID
	r.Must(r.Update(func(tx store.Tx) error {
		all, err := tx.WebhooksOfOwner(owner)
		if err != nil {
			return err
		}
		hook, told := all[len(all)-1], wallet.WebhookEnded
		data := wallet.WebhookTroubleData{KeptHours: 72, WebhookID: hook.ID, Status: 500, Reason: wallet.Because("attempt.status", wallet.NumberArg("Status", 500))}
		switch what {
		case "fails":
			told = wallet.WebhookDeadLettered
		case "is gone":
			data.Ended, data.Status, data.Reason = wallet.EndedGone, 410, wallet.Because("attempt.gone")
		case "has a backlog", "is given up":
			data.Ended = map[string]wallet.Ending{"has a backlog": wallet.EndedBacklog, "is given up": wallet.EndedFailing}[what]
			data.Status, data.Reason = 0, wallet.Reason{}
		default:
			r.Fatalf("what befalls a webhook by %q?", what)
		}
		if hook.Ended = data.Ended; hook.Ended != "" {
			hook.Active = false
		}
		event, err := wallet.NewEvent(r.NewID("evt"), told, r.Now(), owner, data)
		if err != nil {
			return err
		}
		return errors.Join(tx.PutWebhook(hook), tx.PutWebhookHealth(hook.ID, wallet.WebhookHealth{FailingSince: r.Now(), Failures: 6}), tx.Emit(event))
	}))
	r.settle()
}
