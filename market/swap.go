package market

import (
	"context"
	"encoding/base64"
	"errors"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"purser/wallet"
)

// Limits of what is read of a quote. The message bounds what can be used: a transaction has 1,232 bytes.
const (
	maxQuotedAccounts = 128
	maxQuotedData     = 1_024
	maxQuotedTables   = 16
	maxTableAddresses = 256
	maxVenues         = 8
	maxVenueLength    = 32 // characters
)

// quotedInstruction is an instruction in an answer of /swap/v2/build.
type quotedInstruction struct {
	ProgramID string `json:"programId"`
	Accounts  []struct {
		Pubkey     string `json:"pubkey"`
		IsSigner   bool   `json:"isSigner"`
		IsWritable bool   `json:"isWritable"`
	} `json:"accounts"`
	Data string `json:"data"` // base64
}

// buildAnswer is what is read of an answer of /swap/v2/build. The amounts are not: what counts stands in the instruction. Of the
// instructions only that of the swap is used: the others are purser's own (docs/decisions/0042).
type buildAnswer struct {
	PriceImpactPct number `json:"priceImpactPct"` // a part of 1
	RoutePlan      []struct {
		SwapInfo struct {
			Label string `json:"label"`
		} `json:"swapInfo"`
	} `json:"routePlan"`
	SwapInstruction *quotedInstruction  `json:"swapInstruction"`
	Tables          map[string][]string `json:"addressesByLookupTableAddress"` // null: none
}

// Quote calls GET /swap/v2/build. Errors: INVALID_REQUEST if there is no way to make this swap, NETWORK_ERROR.
func (j *Jupiter) Quote(ctx context.Context, req wallet.SwapRequest) (wallet.SwapQuote, error) {
	var answer buildAnswer
	err := j.api.get(ctx, ForTrade, "/swap/v2/build", url.Values{
		"inputMint": {req.InMint.String()}, "outputMint": {req.OutMint.String()}, "amount": {strconv.FormatUint(req.Units, 10)},
		"taker": {req.Taker.String()}, "slippageBps": {strconv.Itoa(int(req.SlippageBPS))},
	}, &answer)
	var status *statusError
	switch {
	case errors.As(err, &status) && status.answers():
		return wallet.SwapQuote{}, &wallet.Error{Code: wallet.InvalidRequest, Reason: wallet.Because("swap.no_route"), Err: err}
	case err != nil:
		return wallet.SwapQuote{}, unquoted(err)
	}
	q, ok := answer.quote()
	if !ok {
		return wallet.SwapQuote{}, unquoted(&UnavailableError{Source: j.Name(), Err: ErrMalformed})
	}
	q.Source = "Jupiter"
	return q, nil
}

// unquoted is the error of a source that gave no quote.
func unquoted(err error) error {
	return &wallet.Error{Code: wallet.NetworkError, Reason: wallet.Because("swap.no_source"), Err: err}
}

// quote reads the answer; false if it is not what the documentation says.
func (a buildAnswer) quote() (q wallet.SwapQuote, ok bool) {
	in := a.SwapInstruction
	if in == nil || len(in.Accounts) > maxQuotedAccounts || len(in.Data) > base64.StdEncoding.EncodedLen(maxQuotedData) || len(a.Tables) > maxQuotedTables {
		return q, false
	}
	var err error
	if q.Program, err = wallet.ParseAddress(in.ProgramID); err != nil {
		return q, false
	}
	if q.Data, err = base64.StdEncoding.DecodeString(in.Data); err != nil {
		return q, false
	}
	for _, account := range in.Accounts {
		address, err := wallet.ParseAddress(account.Pubkey)
		if err != nil {
			return q, false
		}
		q.Accounts = append(q.Accounts, wallet.QuotedAccount{Address: address, Signer: account.IsSigner, Writable: account.IsWritable})
	}
	if q.Tables, ok = lookupTables(a.Tables); !ok {
		return q, false
	}
	q.ImpactBPS, q.ImpactUnknown = basisPoints(a.PriceImpactPct), a.PriceImpactPct == ""
	for _, step := range a.RoutePlan {
		name := venueName(step.SwapInfo.Label)
		if len(q.Venues) < maxVenues && name != "" && !slices.Contains(q.Venues, name) {
			q.Venues = append(q.Venues, name)
		}
	}
	return q, true
}

// venueName cleans the name of an exchange, which its maker chose: plain letters, digits and a few signs, so that it can't be a link
// and can't turn the text around it.
func venueName(label string) string {
	kept := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == ' ' || r == '-' || r == '_' {
			return r
		}
		return -1
	}, label)
	return strings.TrimSpace(kept[:min(len(kept), maxVenueLength)])
}

// lookupTables reads the tables, by address, so that the same answer always makes the same message.
func lookupTables(tables map[string][]string) (out []wallet.LookupTable, ok bool) {
	for _, name := range slices.Sorted(maps.Keys(tables)) {
		if len(tables[name]) > maxTableAddresses {
			return nil, false
		}
		table := wallet.LookupTable{}
		var err error
		if table.Address, err = wallet.ParseAddress(name); err != nil {
			return nil, false
		}
		for _, text := range tables[name] {
			address, err := wallet.ParseAddress(text)
			if err != nil {
				return nil, false
			}
			table.Addresses = append(table.Addresses, address)
		}
		out = append(out, table)
	}
	return out, true
}

// basisPoints turns a part of 1 into hundredths of a percent, rounded up, at most 100 %. Nothing is 0, what cannot be read is all.
func basisPoints(n number) int64 {
	if n == "" {
		return 0
	}
	p, err := wallet.ParsePrice(strings.TrimPrefix(string(n), "-"))
	if err != nil {
		return 10_000
	}
	units, exponent := p.Mantissa, int(p.Exponent)+4 // 10^4 of them are the whole
	for ; exponent > 0 && units < 10_000; exponent-- {
		units *= 10
	}
	for ; exponent < 0; exponent++ {
		units = (units + 9) / 10
	}
	return int64(min(units, 10_000))
}
