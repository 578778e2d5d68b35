package solana

import (
	"encoding/base64"
	"encoding/json"
	"strconv"

	"github.com/mr-tron/base58"
)

// What a transaction did, as getTransaction, getBlock and simulateTransaction show it.

// showMeta is UiTransactionStatusMeta. In the parsed form there are no loadedAddresses, because the keys from lookup
// tables are listed with the message's own. Amounts are in lamports.
func showMeta(l *landed, parsed bool) object {
	pre, post := l.Tokens.shown()
	meta := object{
		"err":                  l.Err.wire(),
		"status":               showStatus(l.Err),
		"fee":                  l.Fee,
		"preBalances":          l.Pre,
		"postBalances":         l.Post,
		"innerInstructions":    showInner(l.tx, l.Inner, parsed),
		"logMessages":          l.Logs,
		"preTokenBalances":     pre,
		"postTokenBalances":    post,
		"rewards":              []any{},
		"computeUnitsConsumed": l.Units,
	}
	if !parsed {
		meta["loadedAddresses"] = l.tx.showLoaded()
	}
	return meta
}

// shown is UiTransactionTokenBalance of each token account, before and after.
func (b tokenBalances) shown() (pre, post []object) {
	return showBalances(b.Pre), showBalances(b.Post)
}

// showBalances shows amounts in base units and in whole tokens.
func showBalances(list []tokenBalance) []object {
	shown := make([]object, len(list))
	for i, b := range list {
		text := decimal(b.Amount, b.Decimals)
		var number any // null for an amount of 0, as validators store it
		if b.Amount > 0 {
			number = json.Number(text)
		}
		shown[i] = object{
			"accountIndex": b.Index,
			"mint":         b.Mint.String(),
			"owner":        b.Owner.String(),
			"programId":    b.Program.String(),
			"uiTokenAmount": object{
				"amount": strconv.FormatUint(b.Amount, 10), "decimals": b.Decimals, "uiAmount": number, "uiAmountString": text,
			},
		}
	}
	return shown
}

// showInner groups inner instructions by the top-level instruction that led to them.
func showInner(tx *transaction, list []innerInstruction, parsed bool) []object {
	groups := []object{}
	var group []object
	for i, in := range list {
		ix := instruction{in.Program, in.Accounts, in.Data}
		shown := tx.showInstruction(ix)
		if parsed {
			shown = tx.showParsedInstruction(ix)
		}
		shown["stackHeight"] = in.Depth
		group = append(group, shown)
		// The list is in the order of execution, so a group ends where the next top-level instruction begins.
		if i+1 == len(list) || list[i+1].Top != in.Top {
			groups = append(groups, object{"index": in.Top, "instructions": group})
			group = nil
		}
	}
	return groups
}

// showInstruction shows the program and accounts as indexes of the account keys.
func (m *message) showInstruction(ix instruction) object {
	places := make([]int, len(ix.Accounts)) // []byte would become base64
	for i, a := range ix.Accounts {
		places[i] = int(a)
	}
	return object{"programIdIndex": ix.Program, "accounts": places, "data": base58.Encode(ix.Data), "stackHeight": 1}
}

// showParsedInstruction is an instruction as parseInstruction reads it. If that fails, it has the form that Agave
// uses for programs without a parser.
func (m *message) showParsedInstruction(ix instruction) object {
	program := m.Keys[ix.Program]
	shown := object{"programId": program.String(), "stackHeight": 1}
	if name, parsed, ok := m.parseInstruction(ix); ok {
		shown["program"], shown["parsed"] = name, parsed
		return shown
	}
	accounts := make([]string, len(ix.Accounts))
	for i, a := range ix.Accounts {
		accounts[i] = m.Keys[a].String()
	}
	shown["accounts"], shown["data"] = accounts, base58.Encode(ix.Data)
	return shown
}

// addressTexts are the addresses in base58.
func addressTexts(keys []address) []string {
	texts := make([]string, len(keys))
	for i, k := range keys {
		texts[i] = k.String()
	}
	return texts
}

// showLoaded lists the keys that came from lookup tables.
func (m *message) showLoaded() object {
	own := m.own()
	return object{"writable": addressTexts(m.Keys[own : own+m.loaded]), "readonly": addressTexts(m.Keys[own+m.loaded:])}
}

// showLookups lists the lookup tables and the indexes in them, as the message has them.
func (m *message) showLookups() []object {
	places := func(list []byte) []int {
		numbers := make([]int, len(list))
		for i, n := range list {
			numbers[i] = int(n)
		}
		return numbers
	}
	shown := make([]object, len(m.Lookups))
	for i, l := range m.Lookups {
		shown[i] = object{"accountKey": l.Table.String(), "writableIndexes": places(l.Writable), "readonlyIndexes": places(l.Readonly)}
	}
	return shown
}

// showReturn is the return data of the last program that set any, or nil.
func showReturn(r *returnData) any {
	if r == nil || len(r.data) == 0 {
		return nil
	}
	return object{"programId": r.program.String(), "data": []string{base64.StdEncoding.EncodeToString(r.data), "base64"}}
}
