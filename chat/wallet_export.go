package chat

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"purser/handlers"
	"purser/store"
	"purser/wallet"
)

// exportAction is the callback of buttons that export a part of the history, and exportWord the action of /wallet.
const exportAction, exportWord = "export", "export"

// walletExport answers /wallet export. Without a form it asks for one, with buttons, and for the wallet if there are several.
// With a form it sends the first file at once: of all wallets, or of the one that the words after the form name.
func (c *Chat) walletExport(ctx context.Context, h Inbound, args []string) (Action, error) {
	var all []wallet.Wallet
	var named wallet.Wallet
	err := c.Store.View(ctx, func(tx store.Tx) (err error) {
		if all, err = tx.WalletsOf(h.user.ID); err == nil && len(args) > 1 {
			named, err = c.Wallets.Find(tx, h.user.ID, strings.TrimLeft(strings.Join(args[1:], ""), "…."))
		}
		return err
	})
	if err != nil {
		return refuse(err)
	}
	if len(args) == 0 || len(args) == 1 && len(all) > handlers.MaxWalletsListed { // of so many wallets one file cannot have all
		return func(s *replyTx) error { return s.askExport(all) }, nil
	}
	req := handlers.ExportRequest{Format: handlers.ExportFormat(strings.ToLower(args[0])), Address: named.Address, Part: 1}
	if !req.Format.Known() {
		return reply("export.form", vars{"Form": echo(args[0])}), nil
	}
	return c.exportPart(ctx, h, req)
}

// tapExport sends the part that a button is for. Each of these buttons works once, so that a double tap sends one file.
func (c *Chat) tapExport(ctx context.Context, h Inbound, object string) (Action, error) {
	req, ok := parseExport(object)
	if !ok { // made by another version of purser
		return toast("toast.old"), nil
	}
	return c.exportPart(ctx, h, req)
}

// exportPart reads a part of the history and returns the action that sends it. All reading happens before the transaction.
// Each page of the history counts as one of the person's lookups, and a part ends where they have none left.
func (c *Chat) exportPart(ctx context.Context, h Inbound, req handlers.ExportRequest) (Action, error) {
	if err := c.mayAsk(h); err != nil {
		return nil, err
	}
	req.May = func() bool { return c.mayAsk(h) == nil }
	out, err := c.History.Export(ctx, h.caller(), req)
	if err != nil {
		return refuse(err)
	}
	return func(s *replyTx) error {
		s.private = true // for the person alone, as the history is
		if out.File != nil {
			if err := store.LogSecurity(s.tx, s.user.ID, s.now, wallet.LogHistoryExported, wallet.SecurityDetails{Wallet: req.Address, Value: string(req.Format)}); err != nil {
				return err
			}
		}
		if h.Tap != nil {
			if err := s.use(); err != nil {
				return err
			}
		}
		return s.sayExport(req, out)
	}, nil
}

// askExport asks which file to send: a row of buttons for each wallet, and one for all of them where a file can have all.
func (s *replyTx) askExport(all []wallet.Wallet) error {
	const most = 20 // rows of buttons, as whichWallet has
	var rows [][]Button
	add := func(of wallet.Address, label string) error {
		var row []Button
		for _, format := range handlers.ExportFormats() {
			text, err := s.words.text(label, vars{"Form": strings.ToUpper(string(format)), "Tail": html(of.Tail())})
			if err != nil {
				return err
			}
			b, err := s.exportButton(text, handlers.ExportRequest{Format: format, Address: of, Part: 1})
			if err != nil {
				return err
			}
			row = append(row, b)
		}
		rows = append(rows, row)
		return nil
	}
	several := len(all) > 1
	if len(all) <= handlers.MaxWalletsListed {
		if err := add(wallet.Address{}, map[bool]string{true: "button.export_all", false: "button.export_form"}[several]); err != nil {
			return err
		}
	}
	if several {
		for _, w := range all[:min(len(all), most)] {
			if err := add(w.Address, "button.export_wallet"); err != nil {
				return err
			}
		}
	}
	return s.reply("export.ask", vars{"Several": several, "Network": s.network()}, rows...)
}

// sayExport sends a part as a document, with a button for the part behind it and, if a node failed, one that repeats it.
//
// The bytes lie in the outbox, sealed like every reply with the person's own key, until Telegram has them. They are not made
// when they are sent, since the button for the next part must be stored with what this part contains. A part of the same
// number that still waits is replaced, so that a person fills no disk while Telegram does not answer.
func (s *replyTx) sayExport(req handlers.ExportRequest, out handlers.Export) error {
	if out.Entries == 0 && out.Next == "" && out.Complete {
		if req.Cursor != "" {
			return s.reply("activity.no_more", nil)
		}
		return s.reply("history.none", nil)
	}
	var row []Button
	add := func(label string, of handlers.ExportRequest) error {
		text, err := s.words.text(label, nil)
		if err != nil {
			return err
		}
		b, err := s.exportButton(text, of)
		row = append(row, b)
		return err
	}
	if !out.Complete {
		if err := add("button.export_again", req); err != nil {
			return err
		}
	}
	if out.Next != "" {
		next := req
		next.Cursor, next.Part = out.Next, req.Part+1
		if err := add("button.older", next); err != nil {
			return err
		}
	}
	var rows [][]Button
	if len(row) > 0 {
		rows = append(rows, row)
	}
	v, err := s.exportVars(req, out)
	if err != nil {
		return err
	}
	if out.File == nil {
		return s.reply("export.empty", v, rows...)
	}
	text, err := s.words.text("export.part", v)
	if err != nil {
		return err
	}
	card := fmt.Sprintf("%s:%s:%s:%d", exportAction, req.Format, req.Address, req.Part)
	if err := s.enqueue(Reply{Kind: Document, Text: string(text), FileName: out.Name, File: out.File, Buttons: rows}, card); err != nil {
		return err
	}
	s.out[len(s.out)-1].CardUntil = s.now // the message is never edited, so the row of its card may expire at once
	return nil
}

// exportVars are the variables of the texts about a part.
func (s *replyTx) exportVars(req handlers.ExportRequest, out handlers.Export) (vars, error) {
	entries, err := s.words.text("export.entries", vars{"Count": out.Entries})
	if err != nil {
		return nil, err
	}
	v := vars{"Network": s.network(), "Part": "", "Entries": entries, "From": "", "To": s.words.moment(out.To),
		"Tail": html(""), "More": out.Next != "", "Incomplete": !out.Complete}
	if out.Entries > 1 {
		v["From"] = s.words.moment(out.From)
	}
	if req.Part > 1 {
		v["Part"] = strconv.Itoa(req.Part)
	}
	if !req.Address.IsZero() {
		v["Tail"] = code("…" + req.Address.Tail())
	}
	return v, nil
}

// exportButton is a button that exports a part. It has a subject of its own: using it ends no other button.
func (s *replyTx) exportButton(label html, req handlers.ExportRequest) (Button, error) {
	subject, err := s.nonce()
	if err != nil {
		return Button{}, err
	}
	return s.button(label, exportAction+":"+exportObject(req), exportAction+" "+subject, s.now.Add(menuLife))
}

// exportObject writes a request as the object of a button: form, number of the part, address or "-", cursor.
func exportObject(req handlers.ExportRequest) string {
	address := "-"
	if !req.Address.IsZero() {
		address = req.Address.String()
	}
	return fmt.Sprintf("%s %d %s %s", req.Format, req.Part, address, req.Cursor)
}

// parseExport reads what exportObject wrote.
func parseExport(object string) (req handlers.ExportRequest, ok bool) {
	words := strings.SplitN(object, " ", 4)
	if len(words) != 4 {
		return req, false
	}
	var err error
	if words[2] != "-" {
		if req.Address, err = wallet.ParseAddress(words[2]); err != nil {
			return req, false
		}
	}
	req.Format, req.Cursor = handlers.ExportFormat(words[0]), words[3]
	req.Part, err = strconv.Atoi(words[1])
	return req, err == nil && req.Format.Known()
}

// usedExport answers a further tap of a button whose file was sent.
func (s *replyTx) usedExport() (bool, error) {
	if action, _, _ := strings.Cut(s.inbound.button.Action, ":"); action != exportAction {
		return false, nil
	}
	return true, s.toast("toast.exported", nil)
}
