package handlers

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"

	"purser/wallet"
)

// exportFile is a file that entries are added to, one after the other.
type exportFile struct {
	kinds wallet.Kinds
	to    bytes.Buffer
	rows  *csv.Writer // nil for JSON
	some  bool        // it has an entry
}

// newExportFile begins a file. A form that is not known is an error: callers check ExportFormat.Known.
func newExportFile(format ExportFormat, kinds wallet.Kinds) (*exportFile, error) {
	f := &exportFile{kinds: kinds}
	switch format {
	case ExportJSON:
		f.to.WriteString(`{"transactions": [`)
		return f, nil
	case ExportCSV:
		f.rows = csv.NewWriter(&f.to)
		f.rows.UseCRLF = true // RFC 4180
		return f, f.rows.Write(exportColumns())
	}
	return nil, fmt.Errorf("an export has no form %q", format)
}

// exportColumns are the columns of a CSV file, named as the fields in JSON.
func exportColumns() []string {
	return []string{"created_at", "type", "direction", "status", "amount", "token", "mint", "counterparty", "counterparty_name", "fee",
		"signature", "wallet_address", "memo", "label", "transaction_id", "source", "suspect", "changes"}
}

// cells are the entry's cells in the order of exportColumns.
func (e exportEntry) cells() []string {
	changes := make([]string, len(e.Changes))
	for i, change := range e.Changes {
		changes[i] = change.Direction + " " + change.Amount + " " + change.Token
	}
	return []string{e.CreatedAt, string(e.Type), e.Direction, string(e.Status), e.Amount, e.Token, e.Mint, textOf(e.Counterparty), e.CounterpartyName, e.Fee,
		textOf(e.Signature), textOf(e.WalletAddress), e.Memo, e.Label, string(e.TransactionID), e.Source, string(e.Suspect), strings.Join(changes, ", ")}
}

// textOf is an address or a signature as the API writes it: "" for the zero value.
func textOf(v interface{ MarshalText() ([]byte, error) }) string {
	text, _ := v.MarshalText() // neither has an error
	return string(text)
}

// add appends an entry, and returns its time.
func (f *exportFile) add(e HistoryEntry) (time.Time, error) {
	entry, at, err := exported(e, f.kinds)
	if err != nil {
		return at, err
	}
	if f.rows != nil {
		return at, f.row(entry.cells())
	}
	if f.some {
		f.to.WriteByte(',')
	}
	f.some = true
	var raw bytes.Buffer
	enc := json.NewEncoder(&raw)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(entry); err != nil {
		return at, err
	}
	f.to.WriteString("\n  " + escapeUnseen(strings.TrimSuffix(raw.String(), "\n")))
	return at, nil
}

// row appends a row of a CSV file. Text of others stands in its cells.
func (f *exportFile) row(cells []string) error {
	for i := range cells {
		cells[i] = cellText(cells[i])
	}
	return f.rows.Write(cells)
}

// size is how many bytes the file has so far, without the last kilobytes.
func (f *exportFile) size() int { return f.to.Len() }

// end returns the whole file. In JSON, next and complete are fields of their own. CSV has no place for them: an incomplete
// file ends with a row that says so.
func (f *exportFile) end(next string, complete bool) ([]byte, error) {
	if f.rows == nil {
		cursor, err := json.Marshal(next)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&f.to, "\n], \"next_cursor\": %s, \"complete\": %t}\n", cursor, complete)
		return f.to.Bytes(), nil
	}
	if !complete {
		cells := make([]string, len(exportColumns()))
		cells[0] = "complete=false"
		if err := f.row(cells); err != nil {
			return nil, err
		}
	}
	f.rows.Flush()
	return f.to.Bytes(), f.rows.Error()
}

// cellText makes a text harmless in a spreadsheet. Spreadsheets run a cell that begins with = + - or @ as a formula, some of
// them after white space too, and those that separate cells by semicolons or tabs find cells within ours. Such a beginning
// gets an apostrophe, which spreadsheets take for "this is text". Characters that do not show are written as \u202e: they
// could show the rest of the line in another order. Amounts, addresses and times stay what they are, as they begin with
// none of these.
func cellText(text string) string {
	var out strings.Builder
	begins := true // a cell, as some spreadsheet may see it
	for _, r := range strings.ReplaceAll(text, "\r\n", "\n") {
		switch {
		case r == '\r':
			r = '\n'
		case r == '\t':
			r = ' '
		case begins && strings.ContainsRune("=+-@＝＋－＠", r):
			out.WriteByte('\'')
		case r != '\n' && (unicode.IsControl(r) || wallet.Unseen(r)):
			fmt.Fprintf(&out, `\u%04x`, r)
			continue
		}
		out.WriteRune(r)
		begins = r == '\n' || r == ';' || begins && (r == '"' || unicode.IsSpace(r))
	}
	return out.String()
}

// escapeUnseen writes characters of a JSON document that do not show as their escapes, which mean the same.
func escapeUnseen(document string) string {
	if !strings.ContainsFunc(document, wallet.Unseen) {
		return document
	}
	var out strings.Builder
	for _, r := range document {
		if !wallet.Unseen(r) {
			out.WriteRune(r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			fmt.Fprintf(&out, `\u%04x`, unit)
		}
	}
	return out.String()
}
